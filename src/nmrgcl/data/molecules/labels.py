"""Find the columns of labels in a table, and convert their cells to numbers."""

import csv
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from nmrgcl.data.formats.csv_file import arrow
from nmrgcl.data.molecules.columns import as_bytes, is_identifier, is_text, known, texts
from nmrgcl.errors import DataError, printable

_INDEX = re.compile(r"__index_level_\d+__|unnamed: \d+|", re.IGNORECASE)
"""Names that pandas gives to row numbers; in CSV, they have none."""
_NUMBER = r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?\s*"
_MISSING = r"\s*(-|-?nan|n/?a|#n/a|null|none)?\s*"
_IS_NUMBER, _IS_MISSING = (re.compile(each, re.IGNORECASE | re.ASCII) for each in (_NUMBER, _MISSING))


def label_columns(columns: Any, source: str, smiles: str, wanted: Sequence[str] | str | None = None) -> list[str]:
    """Return the requested columns, or all numeric ones except for identifiers and running numbers."""
    if wanted is None:
        return [name for name in _candidates(columns, smiles) if _is_label(columns[name])]
    names = _listed(wanted, columns.column_names) if isinstance(wanted, str) else list(wanted)
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise DataError(printable(f"{source}: label {repeated!r} is named twice; name it once"))
    return [known(columns, name, source) for name in names]


def numbers(column: Any, name: str, source: str, lines: np.ndarray) -> np.ndarray:
    """Return ``[R]`` float32, NaN where a cell is missing; an error names the line of a cell that is not a number."""
    if _is_numeric(column.type):
        found = column.cast("float64", safe=False).to_numpy()
    else:
        cells = [text or "" for text in texts(column)]
        if two := _two_words(cells):
            raise DataError(printable(f"{source}: column {name!r} {two}"))
        if (bad := _first_bad(cells)) is not None:
            told = f"column {name!r} contains {cells[bad]!r}; labels must be numbers such as 0.5"
            raise DataError(printable(f"{source}, line {lines[bad]}: {told}"))
        found = np.array([float(text) if _IS_NUMBER.fullmatch(text) else np.nan for text in cells])
    with np.errstate(over="ignore"):
        values = found.astype(np.float32)
    if np.isinf(values).any():
        raise DataError(printable(f"{source}: column {name!r} contains a number that does not fit a 32-bit float"))
    return values


def unused_columns(columns: Any, smiles: str, lines: np.ndarray) -> Iterator[tuple[str, str]]:
    """Yield each column of two words, or mostly of numbers, and why it is not one of labels."""
    for name in _candidates(columns, smiles):
        if not is_text(columns[name].type):
            continue
        cells = [text or "" for text in texts(columns[name])]
        bad = _first_bad(cells)
        if two := _two_words(cells):
            yield name, f"it {two}"
        elif bad is not None and sum(map(_is_nearly_number, cells)) > len(cells) / 2:
            yield name, f"line {lines[bad]} holds {cells[bad]!r}"


def _candidates(columns: Any, smiles: str) -> Iterator[str]:
    for name in columns.column_names:
        if name != smiles and not is_identifier(name) and not _INDEX.fullmatch(name):
            yield name


def _listed(text: str, names: Sequence[str]) -> list[str]:
    """Return the names in an argument of a command: one that exists, or a list with commas, quoted as in CSV."""
    if text in names:
        return [text]
    rows = csv.reader(text.splitlines(), skipinitialspace=True)
    return [name.strip() for row in rows for name in row if name.strip()]


def _two_words(cells: Sequence[str]) -> str | None:
    """Return what to say about a column that contains two texts and no number, such as yes and no."""
    found = sorted({text.strip() for text in cells if not _IS_MISSING.fullmatch(text)})
    if len(found) != 2 or any(map(_IS_NUMBER.fullmatch, found)):
        return None
    return f"holds {found[0]} and {found[1]}: write 1 for one of them and 0 for the other"


def _first_bad(cells: Sequence[str]) -> int | None:
    """Return the row of the first cell that is neither a number nor missing."""
    good = (_IS_NUMBER.fullmatch(text) or _IS_MISSING.fullmatch(text) for text in cells)
    return next((row for row, match in enumerate(good) if match is None), None)


def _is_numeric(kind: Any) -> bool:
    types = arrow().types
    return types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)


def _is_nearly_number(text: str) -> bool:
    """Return True for a number, one with a sign such as in >1000, or with a decimal comma."""
    return _IS_NUMBER.fullmatch(text.strip().lstrip("<>~=").replace(",", ".", 1)) is not None


def _is_label(column: Any) -> bool:
    if _is_numeric(column.type):
        return not _numbers_rows(column)
    if not is_text(column.type):
        return False
    pc, cells = arrow().compute, as_bytes(column)
    number = pc.match_substring_regex(cells, f"^{_NUMBER}$", ignore_case=True)
    missing = pc.match_substring_regex(cells, f"^{_MISSING}$", ignore_case=True)
    return bool(pc.any(number).as_py() and pc.all(pc.or_(number, missing)).as_py())


def _numbers_rows(column: Any) -> bool:
    """Return True if integers increase from row to row, as identifiers do, or are consecutive numbers in any order."""
    if len(column) < 3 or column.null_count or not arrow().types.is_integer(column.type):
        return False
    values = column.to_numpy().astype(np.int64)
    return bool((np.diff(values) > 0).all() or (np.diff(np.sort(values)) == 1).all())
