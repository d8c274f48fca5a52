"""One of the CSV files of an edge list: which of its columns are known, and what the others become."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from nmrgcl.data.files.archive import Readable
from nmrgcl.data.formats.classes import shown
from nmrgcl.data.formats.csv_blocks import read_csv
from nmrgcl.data.formats.csv_column import Column, Convert, reals
from nmrgcl.errors import DataError, nearest

ALIASES = {"src": "source", "from": "source", "dst": "target", "to": "target", "graph_id": "graph", "node_id": "node"}


@dataclass(frozen=True)
class Table:
    """A file's columns by name; row ``i`` stands on line ``i + 2``."""

    file: str
    columns: dict[str, Column]
    others: tuple[str, ...]
    rows: int

    def array(self, name: str) -> np.ndarray | None:
        """``[rows]`` a column of numbers, None if it is not there."""
        return self.columns[name].array() if name in self.columns else None

    def labels(self) -> np.ndarray | None:
        """``[rows, 1]`` the column of that name."""
        return None if (values := self.array("label")) is None else values[:, None]

    def attributes(self) -> np.ndarray | None:
        """``[rows, D]`` the columns that have no meaning of their own, in the file's order."""
        return np.stack([self.columns[name].array() for name in self.others], 1) if self.others else None


def read_csv_table(
    stream: Readable, file: str, known: Mapping[str, Convert], needed: tuple[str, ...], *, closed: bool = False
) -> Table:
    """The columns ``known`` converted so, any other a number; ``closed`` means there may be no other."""
    header, blocks = read_csv(stream, file)
    names = _names(header, file)
    for name in needed:
        if name not in names:
            aliases = [alias for alias, meant in ALIASES.items() if meant == name]
            spelt = f" (or {', '.join(aliases)})" if aliases else ""
            found = ", ".join(shown(cell) for cell in header[:6])
            raise DataError(f"{file}, line 1: no column is named {name}{spelt}, but {found}; write a header line")
    others = tuple(name for name in names if name not in known)
    if closed and others:
        raise DataError(f"{file}, line 1: unknown column {shown(others[0])}; {nearest(others[0][:32], known)}")
    columns = {name: Column(file, name if name in known else shown(name), known.get(name, reals)) for name in names}
    rows = 0
    for line, cells in blocks:
        rows += len(cells[0])
        for column, values in zip(columns.values(), cells, strict=True):
            column.add(values, line)
    return Table(file, columns, others, rows)


def _names(header: list[str], file: str) -> list[str]:
    names = [ALIASES.get(cell.lower(), cell.lower()) for cell in header]
    for place, name in enumerate(names, 1):
        if not name or name.startswith("unnamed:"):
            raise DataError(
                f"{file}, line 1: column {place} has no name; name it or leave it out (pandas: to_csv with index=False)"
            )
        if name in names[: place - 1]:
            raise DataError(f"{file}, line 1: two columns are named {shown(name)}; keep one of them")
    return names
