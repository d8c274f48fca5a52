"""Find the columns of SMILES and labels in a table, and convert their values."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nmrgcl.data.formats.csv_file import arrow
from nmrgcl.data.molecules.chemistry import rdkit
from nmrgcl.errors import DataError, nearest, printable

NAMES = ("smiles", "canonical_smiles")
"""Recognised names of the SMILES column; case is ignored."""
LOOKED_AT = 50
"""Number of cells that are parsed as SMILES to guess the column."""


def smiles_column(columns: Any, source: str, wanted: str | None = None) -> str:
    """Return the requested column, or the one with a recognised name; otherwise, the error suggests one."""
    if wanted is not None:
        return _known(columns, wanted, source)
    names = {name.lower(): name for name in reversed(columns.column_names)}
    found = next((names[name] for name in NAMES if name in names), None)
    if found is not None:
        return found
    likeliest = likely_smiles(columns)
    if likeliest is not None:
        use = f"rename it, or use smiles={likeliest!r} (--smiles of nmrgcl datasets import)"
        raise DataError(printable(f"{source}: no column is named smiles; {likeliest!r} looks like SMILES: {use}"))
    listed = ", ".join(columns.column_names[:8]) + (", …" if columns.num_columns > 8 else "")
    raise DataError(printable(f"{source}: no column is named smiles or looks like SMILES; there are {listed}"))


def likely_smiles(columns: Any) -> str | None:
    """Return the column with the largest share of valid SMILES, if it is more than half."""
    shares = {name: _share_valid(columns[name]) for name in columns.column_names}
    likeliest = max(shares, key=lambda name: shares[name])
    return likeliest if shares[likeliest] > 0.5 else None


def label_columns(columns: Any, source: str, smiles: str, wanted: Sequence[str] | None = None) -> list[str]:
    """Return the requested columns, or all numeric ones except for a running number."""
    if wanted is not None:
        return [_known(columns, name, source) for name in wanted]
    others = (name for name in columns.column_names if name != smiles)
    return [name for name in others if _is_numeric(columns[name].type) and not _counts_rows(columns[name])]


def numbers(column: Any, name: str, source: str) -> np.ndarray:
    """Return ``[R]`` float32, NaN where a cell is empty."""
    if not _is_numeric(column.type):
        example = next((value for value in column.to_pylist() if value is not None), None)
        if example is not None:
            raise DataError(printable(f"{source}: column {name!r} contains {example!r}; labels must be numbers"))
        return np.full(len(column), np.nan, np.float32)
    with np.errstate(over="ignore"):
        values = column.cast("float64", safe=False).to_numpy().astype(np.float32)
    if np.isinf(values).any():
        raise DataError(printable(f"{source}: column {name!r} contains a number that does not fit a 32-bit float"))
    return values


def texts(column: Any) -> list[str | None]:
    """Return cells as text; invalid UTF-8 is replaced by a character that does not occur in SMILES."""
    return [value if value is None or isinstance(value, str) else _text(value) for value in column.to_pylist()]


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _known(columns: Any, name: str, source: str) -> str:
    if name not in columns.column_names:
        raise DataError(printable(f"{source}: there is no column {name!r}; {nearest(name, columns.column_names)}"))
    return name


def _is_numeric(kind: Any) -> bool:
    types = arrow().types
    return types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)


def _counts_rows(column: Any) -> bool:
    """Return True if integers increase from row to row, as identifiers do."""
    if len(column) < 3 or column.null_count or not arrow().types.is_integer(column.type):
        return False
    return bool((np.diff(column.to_numpy()) > 0).all())


def _share_valid(column: Any) -> float:
    """Return the share of the first cells that RDKit parses as molecules of at least two atoms."""
    types = arrow().types
    if not (types.is_string(column.type) or types.is_large_string(column.type)):
        return 0.0
    cells = [text for text in column.slice(0, LOOKED_AT).to_pylist() if text]
    with rdkit() as chem:
        found = [chem.MolFromSmiles(text) for text in cells]
    return sum(one is not None and one.GetNumAtoms() > 1 for one in found) / max(len(cells), 1)
