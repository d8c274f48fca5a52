"""One of the CSV files of an edge list: which of its columns are known, and what the others become."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nmrgcl.data.files.archive import Readable
from nmrgcl.data.formats.classes import shown
from nmrgcl.data.formats.csv_file import arrow, as_numpy, header, parse_csv, read_all
from nmrgcl.errors import DataError, nearest, printable

ALIASES = {"src": "source", "from": "source", "dst": "target", "to": "target", "graph_id": "graph", "node_id": "node"}
_SEPARATORS = {";": "semicolons", "\t": "tabs"}
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)")


@dataclass(frozen=True)
class EdgeTable:
    """A file's columns by name, text or float32; row ``i`` stands on line ``i + 2``."""

    file: str
    rows: int
    texts: dict[str, Any]
    numbers: dict[str, np.ndarray]

    def refusal(self, row: int, why: str) -> DataError:
        """The error to raise about a row."""
        return DataError(f"{self.file}, line {row + 2}: {why}")

    def attributes(self) -> np.ndarray | None:
        """``[rows, D]`` the columns that have no meaning of their own, in the file's order."""
        others = [values for name, values in self.numbers.items() if name != "weight"]
        return np.stack(others, 1) if others else None

    def weight(self) -> np.ndarray | None:
        """``[rows]`` positive numbers."""
        weight = self.numbers.get("weight")
        for row in () if weight is None else np.flatnonzero(weight <= 0)[:1]:
            raise self.refusal(row, "weight: is not a positive number that fits a 32-bit float; correct the cell")
        return weight

    def converted(self, name: str, convert: Callable[[str], Any]) -> list[Any] | None:
        """A column of text, each distinct cell converted once; the first that cannot be is named."""
        if name not in self.texts:
            return None
        encoded = self.texts[name].dictionary_encode()
        values = []
        for code, cell in enumerate(encoded.dictionary.to_pylist()):
            try:
                values.append(convert(cell))
            except ValueError as error:
                row = int((as_numpy(encoded.indices) == code).argmax())
                raise self.refusal(row, f"{name}: {error}; correct the cell") from None
        return [values[code] for code in as_numpy(encoded.indices).tolist()]


def read_edge_table(
    stream: Readable, file: str, texts: set[str], needed: tuple[str, ...], *, closed: bool = False
) -> EdgeTable:
    """The columns ``texts`` as they stand, any other as numbers; ``closed`` means there may be no other."""
    content = read_all(stream, file).rstrip(b" \t\r\n")
    if not content:
        raise DataError(f"{file}, line 1: the file is empty; it begins with the names of its columns")
    if found := _CONTROL.search(content):
        line = content.count(b"\n", 0, found.start()) + 1
        raise DataError(f"{file}, line {line}: {found[0].decode()!r} does not belong in a text; correct that line")
    names = _names(header(content), file)
    for name in needed:
        if name not in names:
            aliases = [alias for alias, meant in ALIASES.items() if meant == name]
            spelt = f" (or {', '.join(aliases)})" if aliases else ""
            listed = ", ".join(shown(cell) for cell in names[:6])
            raise DataError(f"{file}, line 1: no column is named {name}{spelt}, but {listed}; write a header line")
    others = [name for name in names if name not in texts and name != "weight"]
    if closed and others:
        raise DataError(f"{file}, line 1: unknown column {shown(others[0])}; {nearest(others[0][:32], texts)}")
    lib = arrow()
    types = {name: lib.string() if name in texts else lib.float64() for name in names}
    columns = parse_csv(content + b"\n", file, types=types)
    found_texts = {name: _text(columns[name], file, name) for name in names if name in texts}
    numbers = {name: _reals(columns[name], file, name) for name in names if name not in texts}
    return EdgeTable(file, columns.num_rows, found_texts, numbers)


def _names(cells: list[str], file: str) -> list[str]:
    for separator, plural in _SEPARATORS.items():
        if len(cells) == 1 and separator in cells[0]:
            raise DataError(f"{file}, line 1: columns are separated by {plural}; write commas")
    names = [ALIASES.get(cell.lower(), cell.lower()) for cell in cells]
    for place, name in enumerate(names, 1):
        if not name or name.startswith("unnamed:"):
            raise DataError(
                f"{file}, line 1: column {place} has no name; name it or leave it out (pandas: to_csv with index=False)"
            )
        if "\ufffd" in name:
            raise DataError(f"{file}, line 1: the name of column {place} is not UTF-8; save the file as UTF-8")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{file}, line 1: two columns are named {shown(twice)}; keep one of them")
    return names


def _text(column: Any, file: str, name: str) -> Any:
    """Cells without the blanks around them; identifiers are not empty."""
    compute = arrow().compute
    column = column.combine_chunks()
    # Pyarrow takes a line break for a part of a quoted cell, and a quote after a blank for a character.
    wrong = compute.match_substring_regex(column, '\n|^[ \t]+"')
    for row in as_numpy(compute.indices_nonzero(wrong))[:1]:
        why = "a quote stands after a blank, or is not closed on its line; correct that line"
        raise DataError(f"{file}, line {row + 2}: {name}: {why}")
    column = compute.utf8_trim(column, " \t")
    empty = as_numpy(compute.binary_length(column)) == 0
    if name not in ("y", "label") and empty.any():
        raise DataError(f"{file}, line {empty.argmax() + 2}: {name}: a value is missing; correct the cell")
    return column


def _reals(column: Any, file: str, name: str) -> np.ndarray:
    """Finite numbers as float32."""
    with np.errstate(over="ignore"):
        values = as_numpy(column.combine_chunks()).astype(np.float32)
    for row in np.flatnonzero(~np.isfinite(values))[:1]:
        why = "is not a finite number that fits a 32-bit float; correct the cell"
        raise DataError(printable(f"{file}, line {row + 2}: {name[:32]}: {why}"))
    return values
