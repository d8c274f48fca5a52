"""One of the CSV files of an edge list: its known columns, and its features."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
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
    """The columns of a file by name; row ``i`` is on line ``i + 2``.

    ``texts`` are the columns with a defined meaning. The others are ``numbers`` (float32) or ``words``, in which empty
    cells are None.
    """

    file: str
    rows: int
    texts: dict[str, Any]
    numbers: dict[str, np.ndarray]
    words: dict[str, list[str | None]]

    def refusal(self, row: int, why: str) -> DataError:
        """Return the error about a row."""
        return DataError(f"{self.file}, line {row + 2}: {why}")

    def choose(self, wanted: tuple[str, ...] | None, except_for: str | None = None) -> "EdgeTable":
        """Keep only the ``wanted`` feature columns; None: all but one."""
        others = {**self.numbers, **self.words}
        if wanted is None:
            names = [name for name in others if name != except_for]
        else:
            names = [name.lower() for name in wanted if name.lower() not in self.texts]
            for name in names:
                if name not in others:
                    raise DataError(f"{self.file}, line 1: no column is named {shown(name)}; {nearest(name, others)}")
        numbers = {name: self.numbers[name] for name in names if name in self.numbers}
        return replace(self, numbers=numbers, words={name: self.words[name] for name in names if name in self.words})

    def attributes(self) -> np.ndarray | None:
        """Return the ``[rows, D]`` numeric features."""
        return np.stack(list(self.numbers.values()), 1) if self.numbers else None

    def weight(self, name: str | None = "weight") -> np.ndarray | None:
        """Return the ``[rows]`` weights, which must be positive."""
        weight = None if name is None else self.numbers.get(name.lower())
        if name is not None and name.lower() in self.words:
            raise self.refusal(0, f"{shown(name)}: is not a positive number; correct the column or rename it")
        for row in () if weight is None else np.flatnonzero(weight <= 0)[:1]:
            raise self.refusal(row, "weight: is not a positive 32-bit float; correct the cell")
        return weight

    def converted(self, name: str, convert: Callable[[str], Any]) -> list[Any] | None:
        """Convert a column, each distinct cell once; the error names the first row that cannot be converted."""
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
    """Read the columns ``texts`` as text and the others as numbers, or as text if they contain no number.

    If ``closed``, other columns are an error.
    """
    content = read_all(stream, file).rstrip(b" \t\r\n")
    if not content:
        raise DataError(f"{file}, line 1: the file is empty; it must begin with a header line")
    if found := _CONTROL.search(content):
        line = content.count(b"\n", 0, found.start()) + 1
        raise DataError(f"{file}, line {line}: contains the control character {found[0].decode()!r}; correct that line")
    names = _names(header(content), file)
    for name in needed:
        if name not in names:
            aliases = [alias for alias, meant in ALIASES.items() if meant == name]
            spelt = f" (or {', '.join(aliases)})" if aliases else ""
            listed = ", ".join(shown(cell) for cell in names[:6])
            raise DataError(
                f"{file}, line 1: no column is named {name}{spelt}; there are {listed}; write a header line"
            )
    others = [name for name in names if name not in texts and name != "weight"]
    if closed and others:
        raise DataError(f"{file}, line 1: unknown column {shown(others[0])}; {nearest(others[0][:32], texts)}")
    lib = arrow()
    types = {name: lib.string() if name in texts else lib.float64() for name in names}
    try:
        columns = parse_csv(content + b"\n", file, types=types)
    except DataError:
        # Most files have only numbers beyond the known columns, so text is looked for after that has failed.
        words = _words(content, file, names, others)
        if not words:
            raise
        columns = parse_csv(content + b"\n", file, types=types | dict.fromkeys(words, lib.string()))
    found_texts = {name: _text(columns[name], file, name) for name in names if name in texts}
    is_text = {name: lib.types.is_string(columns[name].type) for name in names if name not in texts}
    numbers = {name: _reals(columns[name], file, name) for name, text in is_text.items() if not text}
    found_words = {
        name: [cell or None for cell in _text(columns[name], file, name, optional=True).to_pylist()]
        for name, text in is_text.items()
        if text
    }
    return EdgeTable(file, columns.num_rows, found_texts, numbers, found_words)


def _words(content: bytes, file: str, names: list[str], others: list[str]) -> list[str]:
    """Return the columns that contain text and no numbers."""
    lib = arrow()
    columns = parse_csv(content + b"\n", file, types={name: lib.string() for name in names})
    distinct = {name: columns[name].combine_chunks().unique().to_pylist() for name in others}
    return [name for name, cells in distinct.items() if is_text(cells)]


def is_text(cells: Iterable[str]) -> bool:
    """Return True if no cell is a number and at least one is not empty."""
    given = [cell for cell in cells if cell.strip()]
    for cell in given:
        try:
            float(cell)
        except ValueError:
            continue
        return False
    return bool(given)


def _names(cells: list[str], file: str) -> list[str]:
    for separator, plural in _SEPARATORS.items():
        if len(cells) == 1 and separator in cells[0]:
            raise DataError(f"{file}, line 1: columns are separated by {plural}; use commas")
    names = [ALIASES.get(cell.lower(), cell.lower()) for cell in cells]
    for place, name in enumerate(names, 1):
        if not name or name.startswith("unnamed:"):
            raise DataError(
                f"{file}, line 1: column {place} has no name; name it or leave it out (in pandas: to_csv(index=False))"
            )
        if "\ufffd" in name:
            raise DataError(f"{file}, line 1: the name of column {place} is not UTF-8; save the file as UTF-8")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{file}, line 1: two columns are named {shown(twice)}; keep one of them")
    return names


def _text(column: Any, file: str, name: str, *, optional: bool = False) -> Any:
    """Strip the cells; only classes, labels and ``optional`` columns may have empty ones."""
    compute = arrow().compute
    column = column.combine_chunks()
    # pyarrow accepts line breaks in quoted cells, and does not recognise a quote after a blank.
    wrong = compute.match_substring_regex(column, '\n|^[ \t]+"')
    for row in as_numpy(compute.indices_nonzero(wrong))[:1]:
        why = "a quote follows a blank, or is not closed on its line; correct that line"
        raise DataError(f"{file}, line {row + 2}: {name}: {why}")
    column = compute.utf8_trim(column, " \t")
    empty = as_numpy(compute.binary_length(column)) == 0
    if not optional and name not in ("y", "label") and empty.any():
        raise DataError(f"{file}, line {empty.argmax() + 2}: {name}: a value is missing; correct the cell")
    return column


def _reals(column: Any, file: str, name: str) -> np.ndarray:
    """Return the column as float32, which must be finite."""
    with np.errstate(over="ignore"):
        values = as_numpy(column.combine_chunks()).astype(np.float32)
    for row in np.flatnonzero(~np.isfinite(values))[:1]:
        why = "is not a finite 32-bit float; correct the cell"
        raise DataError(printable(f"{file}, line {row + 2}: {name[:32]}: {why}"))
    return values
