"""Which columns of a table are SMILES and which are labels, and their values."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nmrgcl.data.formats.csv_file import arrow
from nmrgcl.data.molecules.chemistry import rdkit
from nmrgcl.errors import DataError, nearest, printable

NAMES = ("smiles", "canonical_smiles")
"""Names of the SMILES column, in lower case; capitals do not matter."""
LOOKED_AT = 50
"""Cells of a column that are tried as SMILES where no column has their name."""


def smiles_column(columns: Any, source: str, wanted: str | None = None) -> str:
    """The column that was asked for, or the one that has the name; otherwise an error offers the likeliest."""
    if wanted is not None:
        return _known(columns, wanted, source)
    names = {name.lower(): name for name in reversed(columns.column_names)}
    found = next((names[name] for name in NAMES if name in names), None)
    if found is not None:
        return found
    likeliest = likely_smiles(columns)
    if likeliest is not None:
        use = f"rename it, or use smiles={likeliest!r} (--smiles of nmrgcl datasets import)"
        raise DataError(printable(f"{source}: no column is named smiles; {likeliest!r} looks like one: {use}"))
    listed = ", ".join(columns.column_names[:8]) + (", …" if columns.num_columns > 8 else "")
    raise DataError(printable(f"{source}: no column is named smiles, and none looks like one; there are {listed}"))


def likely_smiles(columns: Any) -> str | None:
    """The column of which most cells are valid SMILES, if there is one."""
    shares = {name: _share_valid(columns[name]) for name in columns.column_names}
    likeliest = max(shares, key=lambda name: shares[name])
    return likeliest if shares[likeliest] > 0.5 else None


def label_columns(columns: Any, source: str, smiles: str, wanted: Sequence[str] | None = None) -> list[str]:
    """The columns that were asked for, or all of numbers; not one that only counts the rows upwards."""
    if wanted is not None:
        return [_known(columns, name, source) for name in wanted]
    others = (name for name in columns.column_names if name != smiles)
    return [name for name in others if _is_numeric(columns[name].type) and not _counts_rows(columns[name])]


def numbers(column: Any, name: str, source: str) -> np.ndarray:
    """``[R]`` float32, NaN where a cell is empty."""
    if not _is_numeric(column.type):
        example = next((value for value in column.to_pylist() if value is not None), None)
        if example is not None:
            raise DataError(printable(f"{source}: column {name!r} holds {example!r}; labels must be numbers"))
        return np.full(len(column), np.nan, np.float32)
    with np.errstate(over="ignore"):
        values = column.cast("float64", safe=False).to_numpy().astype(np.float32)
    if np.isinf(values).any():
        raise DataError(printable(f"{source}: column {name!r} holds a number that 32 bits cannot; correct it"))
    return values


def texts(column: Any) -> list[str | None]:
    """Cells as text; what is not UTF-8 in them is replaced by a character that no SMILES has."""
    return [value if value is None or isinstance(value, str) else _text(value) for value in column.to_pylist()]


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _known(columns: Any, name: str, source: str) -> str:
    if name not in columns.column_names:
        raise DataError(printable(f"{source}: has no column {name!r}; {nearest(name, columns.column_names)}"))
    return name


def _is_numeric(kind: Any) -> bool:
    types = arrow().types
    return types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)


def _counts_rows(column: Any) -> bool:
    """Whether whole numbers ascend from row to row, as identifiers do and labels do not."""
    if len(column) < 3 or column.null_count or not arrow().types.is_integer(column.type):
        return False
    return bool((np.diff(column.to_numpy()) > 0).all())


def _share_valid(column: Any) -> float:
    """Among the first cells, those that RDKit reads as molecules of at least two atoms."""
    types = arrow().types
    if not (types.is_string(column.type) or types.is_large_string(column.type)):
        return 0.0
    cells = [text for text in column.slice(0, LOOKED_AT).to_pylist() if text]
    with rdkit() as chem:
        found = [chem.MolFromSmiles(text) for text in cells]
    return sum(one is not None and one.GetNumAtoms() > 1 for one in found) / max(len(cells), 1)
