"""Arrays on disk that are written a part at a time."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from nmrgcl.errors import DataError

AT_A_TIME = 1 << 20
"""Values in memory while a file gets another type."""


class GrowingArray:
    """A file of numbers, which have the smallest integer type that holds all of them so far."""

    def __init__(self, path: Path, like: np.ndarray) -> None:
        if like.dtype.kind not in "biuf" or like.dtype.itemsize > 8:
            raise DataError(f"{path.name}: values of type {like.dtype} cannot be stored; convert them to numbers")
        self.path, self.memory, self.shape = path, like.dtype.newbyteorder("<"), like.shape
        self.length, self.low, self.high = 0, 0, 0
        self.dtype = self._smallest()
        path.touch()

    def add(self, values: np.ndarray) -> None:
        """Append ``values``, which must be of the kind and the width of the others."""
        if values.dtype.newbyteorder("<") != self.memory or values.shape[1:] != self.shape[1:]:
            raise DataError(
                f"{self.path.name}: a part is {values.dtype} of shape {list(values.shape)}, those before were "
                f"{self.memory} of shape {list(self.shape)}; make all parts alike"
            )
        if values.size and values.dtype.kind in "iu":
            self.low, self.high = min(self.low, int(values.min())), max(self.high, int(values.max()))
            self._widen(self._smallest())
        with self.path.open("ab") as file:  # not by tofile, whose errors do not say why
            file.write(np.ascontiguousarray(values, self.dtype).reshape(-1).data)
        self.length += values.shape[0] if values.ndim else 1

    def entry(self) -> dict[str, Any]:
        """What the manifest says of it."""
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
        """Give what is there already another type."""
        if dtype == self.dtype:
            return
        narrow = self.path.rename(self.path.with_suffix(".narrow"))
        with narrow.open("rb") as old, self.path.open("wb") as new:
            while (part := np.frombuffer(old.read(AT_A_TIME * self.dtype.itemsize), self.dtype)).size:
                new.write(part.astype(dtype).data)
        narrow.unlink()
        self.dtype = dtype

    def _smallest(self) -> np.dtype:
        """The smallest integer type for these values; unsigned where none is negative."""
        if self.memory.kind not in "iu":
            return self.memory
        kind = "i" if self.low < 0 else "u"
        sizes = (np.dtype(f"<{kind}{size}") for size in (1, 2, 4, 8))
        return next(t for t in sizes if np.iinfo(t).min <= self.low and self.high <= np.iinfo(t).max)
