"""Many short texts in little memory: as Python strings, those of two million molecules would take 200 MB."""

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

import numpy as np


class Texts(Sequence[str]):
    """A sequence of texts, stored as their concatenated UTF-8 bytes (``data``) and the length of each in bytes.

    Raises ValueError if the lengths do not match the data. Invalid UTF-8 is read as the replacement character.
    """

    def __init__(self, data: np.ndarray, lengths: np.ndarray) -> None:
        if data.dtype != np.uint8 or data.ndim != 1 or lengths.dtype.kind not in "iu" or lengths.ndim != 1:
            raise ValueError("texts must be bytes and integer lengths")
        ends = np.cumsum(lengths, dtype=np.int64)
        if lengths.size and (lengths.min() < 0 or lengths.max() > data.size):
            raise ValueError("the length of a text is impossible")
        if (int(ends[-1]) if ends.size else 0) != data.size:
            raise ValueError("the lengths of texts do not add up to the number of bytes")
        self.data, self.lengths, self.ends = data, lengths, ends

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Texts":
        """Store these texts."""
        encoded = [text.encode(errors="replace") for text in texts]
        lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
        return cls(np.frombuffer(b"".join(encoded), np.uint8), lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError("text index out of range")
        end = int(self.ends[index])
        return self.data[end - int(self.lengths[index]) : end].tobytes().decode(errors="replace")

    def __iter__(self) -> Iterator[str]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Texts) and all(
            np.array_equal(*pair) for pair in ((self.data, other.data), (self.lengths, other.lengths))
        )

    __hash__ = None  # type: ignore[assignment]
