"""Arrays on disk that are written in parts."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from nmrgcl.errors import DataError

AT_A_TIME = 1 << 20
"""Number of values in memory while a file is converted to another type."""


class GrowingArray:
    """A file of numbers; integers are stored in the smallest type that holds all of them so far."""

    def __init__(self, path: Path, like: np.ndarray) -> None:
        if like.dtype.kind not in "biuf" or like.dtype.itemsize > 8:
            raise DataError(f"{path.name}: values of type {like.dtype} cannot be stored; convert them to numbers")
        self.path, self.memory, self.shape = path, like.dtype.newbyteorder("<"), like.shape
        self.length, self.low, self.high = 0, 0, 0
        self.dtype = self._smallest()
        # An array without values needs a file, too.
        path.touch()

    def add(self, values: np.ndarray) -> None:
        """Append ``values``, which must have the same type and width as the others."""
        if values.dtype.newbyteorder("<") != self.memory or values.shape[1:] != self.shape[1:]:
            raise DataError(
                f"{self.path.name}: a part is {values.dtype} of shape {list(values.shape)}, but the first was "
                f"{self.memory} of shape {list(self.shape)}; all parts must have the same type and width"
            )
        if values.size and values.dtype.kind in "iu":
            self.low, self.high = min(self.low, int(values.min())), max(self.high, int(values.max()))
            self._widen(self._smallest())
        with self.path.open("ab") as file:  # not with tofile, whose errors do not state the reason
            file.write(np.ascontiguousarray(values, self.dtype).reshape(-1).data)
        self.length += values.shape[0] if values.ndim else 1

    def entry(self) -> dict[str, Any]:
        """Return the entry for the manifest."""
        # Hashed at the end, because widening rewrites the file.
        with self.path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {
            "dtype": self.dtype.str,
            "memory": self.memory.str,
            "shape": [self.length, *self.shape[1:]] if self.shape else [],
            "bytes": self.path.stat().st_size,
            "sha256": digest,
        }

    def _widen(self, dtype: np.dtype) -> None:
        """Convert the existing values to another type."""
        if dtype == self.dtype:
            return
        narrow = self.path.rename(self.path.with_suffix(".narrow"))
        with narrow.open("rb") as old, self.path.open("wb") as new:
            while (part := np.frombuffer(old.read(AT_A_TIME * self.dtype.itemsize), self.dtype)).size:
                new.write(part.astype(dtype).data)
        narrow.unlink()
        self.dtype = dtype

    def _smallest(self) -> np.dtype:
        """Return the smallest integer type for the values so far; unsigned if none is negative."""
        if self.memory.kind not in "iu":
            return self.memory
        kind = "i" if self.low < 0 else "u"
        sizes = (np.dtype(f"<{kind}{size}") for size in (1, 2, 4, 8))
        return next(t for t in sizes if np.iinfo(t).min <= self.low and self.high <= np.iinfo(t).max)
