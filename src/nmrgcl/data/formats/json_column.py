"""One key over all lines of a file: every graph has it, or none does."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from nmrgcl.data.formats.ragged import Kind, find_wrong, flatten, width_of
from nmrgcl.errors import DataError


class Column:
    """What a key lists about nodes or edges, gathered block by block."""

    def __init__(
        self, key: str, of: Literal["nodes", "edges"], kind: Kind, file: str, width: int | None = None
    ) -> None:
        self.key, self.of, self.kind, self.file, self.width, self.flat = key, of, kind, file, width, width == 0
        self.parts: list[np.ndarray] = []
        self.with_it: int | None = None
        self.without_it: int | None = None

    def add(self, graphs: Sequence[dict[str, Any]], counts: np.ndarray, first: int) -> None:
        """The graphs from line ``first`` on, each with ``counts`` nodes or edges; one of none needs no list."""
        lists: list[Any] = [graph.get(self.key) for graph in graphs]
        absent = np.zeros(len(lists), bool)
        if None in lists:
            absent = np.fromiter((rows is None for rows in lists), bool, len(lists))
            lists = [[] if rows is None else rows for rows in lists]
        self._check_presence(absent, counts, first)
        if absent.all():
            return
        values = self.flatten(lists, first)
        lengths = np.fromiter(map(len, lists), np.int64, len(lists))
        if (wrong := np.flatnonzero((lengths != counts) & ~absent)).size:
            at = int(wrong[0])
            raise DataError(
                f"{self.file}, line {first + at}: {self.key} lists {lengths[at]}, but the graph has {counts[at]} "
                f"{self.of}; write one entry for each"
            )
        self.parts.append(values)

    def flatten(self, lists: Sequence[list[Any]], first: int) -> np.ndarray:
        """All numbers of these lists, the first of which is on line ``first``."""
        try:
            if self.width is None:
                self.width = width_of(lists)
            return flatten(lists, self.kind, self.width or 0)
        except (ValueError, TypeError, KeyError):
            at, reason = find_wrong(lists, self.kind, self.width or 0)
            raise DataError(f"{self.file}, line {first + at}: {self.key}{reason}; correct that line") from None

    def values(self) -> np.ndarray | None:
        """``[rows]`` where the lists can only hold numbers, else ``[rows, width]``; None where no graph has any row."""
        if self.with_it is None:
            return None
        values = np.concatenate(self.parts)
        return values if self.flat else values.reshape(-1, self.width or 1)

    def _check_presence(self, absent: np.ndarray, counts: np.ndarray, first: int) -> None:
        for name, missing in (("with_it", False), ("without_it", True)):
            if getattr(self, name) is None and (found := np.flatnonzero((absent == missing) & (counts > 0))).size:
                setattr(self, name, first + int(found[0]))
        if self.with_it is not None and self.without_it is not None:
            raise DataError(
                f"{self.file}, line {self.without_it}: has no {self.key}, but line {self.with_it} has; "
                "give it for all graphs or none"
            )
