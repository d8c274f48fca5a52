"""Find the columns of SMILES and identifiers in a table, and convert their cells to text."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nmrgcl.data.formats.csv_file import arrow
from nmrgcl.data.molecules.chemistry import rdkit
from nmrgcl.errors import DataError, nearest, printable

NAMES = ("smiles", "canonical_smiles")
"""Recognised names of the SMILES column; case is ignored."""
IDENTIFIERS = (
    *("id", "mol_id", "molecule_id", "name", "compound_id", "cid"),
    *("molecule_chembl_id", "chembl_id", "inchikey"),
)
"""Columns that identify molecules, ignoring case, spaces and underscores; the first one found is used."""
LOOKED_AT = 50
"""Number of cells that are parsed as SMILES to guess the column."""
_PLAIN = re.compile("[ _]")
_ORDER = {_PLAIN.sub("", name): place for place, name in enumerate(IDENTIFIERS)}
_BLANK = r"^\s*$"


def smiles_column(columns: Any, source: str, wanted: str | None = None) -> str:
    """Return the requested column, or the one with a recognised name; otherwise, the error suggests one."""
    if wanted is not None:
        return known(columns, wanted, source)
    names = {name.lower(): name for name in reversed(columns.column_names)}
    found = next((names[name] for name in NAMES if name in names), None)
    if found is not None:
        return found
    likeliest = likely_smiles(columns)
    if likeliest is not None:
        require_name(likeliest, source)
        use = f"rename it, or use --smiles {shlex.quote(likeliest)} (in Python: smiles={likeliest!r})"
        raise DataError(printable(f"{source}: no column is named smiles; {likeliest!r} looks like SMILES: {use}"))
    listed = ", ".join(columns.column_names[:8]) + (", …" if columns.num_columns > 8 else "")
    raise DataError(printable(f"{source}: no column is named smiles or looks like SMILES; there are {listed}"))


def likely_smiles(columns: Any) -> str | None:
    """Return the column with the largest share of valid SMILES, if it is more than half."""
    shares = {name: _share_valid(columns[name]) for name in columns.column_names}
    likeliest = max(shares, key=lambda name: shares[name])
    return likeliest if shares[likeliest] > 0.5 else None


def require_name(likeliest: str, source: str) -> None:
    """Raise DataError if the name of the column of SMILES is a SMILES, too, because the file has no header."""
    if _count_valid([likeliest]):
        told = "the first line is a molecule; put a header line such as smiles above it"
        raise DataError(printable(f"{source}: {told}"))


def require_header(names: Sequence[str], path: Path, delimiter: str = ",") -> None:
    """Raise DataError if a header is not UTF-8, or is one cell because something else separates the columns."""
    if any("\ufffd" in name for name in names):
        raise not_utf8(path)
    found = next((other for other in "\t;," if other != delimiter and other in names[0]), None) if names else None
    if len(names) != 1 or found is None:
        return
    remedy = f"save the file with {'commas' if delimiter == ',' else 'tabs'}"
    remedy += {"\t": ", or rename it to .tsv", ",": ", or rename it to .csv"}.get(found, "")
    by = "tabs" if found == "\t" else repr(found)
    raise DataError(printable(f"{path}, line 1: columns are separated by {by}; {remedy}"))


def not_utf8(path: Path) -> DataError:
    """Return the error about a file in another encoding, such as Latin-1 or UTF-16."""
    return DataError(printable(f"{path}: is not UTF-8 text; save it as CSV UTF-8"))


def is_identifier(name: str) -> bool:
    """Return True for a name in ``IDENTIFIERS``."""
    return _plain(name) in _ORDER


def names_column(columns: Any) -> str | None:
    """Return the column that identifies molecules, if there is one."""
    found = [name for name in columns.column_names if is_identifier(name)]
    return min(found, key=lambda name: _ORDER[_plain(name)], default=None)


def identifiers(columns: Any, lines: np.ndarray) -> Any:
    """Return the identifiers as bytes, with the line of a molecule for a blank one; None without such a column."""
    named = names_column(columns)
    if named is None:
        return None
    pyarrow = arrow()
    cells = as_bytes(columns[named])
    numbers = pyarrow.array(lines).cast(pyarrow.large_string()).cast(pyarrow.large_binary())
    return pyarrow.compute.if_else(pyarrow.compute.match_substring_regex(cells, _BLANK), numbers, cells)


def as_bytes(column: Any) -> Any:
    """Return a column of any type as bytes, empty for a missing cell, if possible without a Python object for each."""
    pyarrow = arrow()
    if not (pyarrow.types.is_binary(column.type) or pyarrow.types.is_large_binary(column.type)):
        try:
            column = column.cast(pyarrow.large_string())
        except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError):  # such as lists
            column = pyarrow.chunked_array([pyarrow.array(texts(column), pyarrow.large_string())])
    return column.cast(pyarrow.large_binary()).fill_null(b"")


def texts(column: Any) -> list[str | None]:
    """Return cells as text; invalid UTF-8 is replaced by a character that does not occur in SMILES."""
    return [value if value is None or isinstance(value, str) else _text(value) for value in column.to_pylist()]


def is_text(kind: Any) -> bool:
    """Return True for the type of a column of text or bytes, or of their categories."""
    types = arrow().types
    if types.is_dictionary(kind):
        return is_text(kind.value_type)
    return any(of(kind) for of in (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary))


def known(columns: Any, name: str, source: str) -> str:
    """Return the name of a column that exists; otherwise, the error suggests one."""
    if name not in columns.column_names:
        raise DataError(printable(f"{source}: there is no column {name!r}; {nearest(name, columns.column_names)}"))
    return name


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _plain(name: str) -> str:
    return _PLAIN.sub("", name.lower())


def _share_valid(column: Any) -> float:
    """Return the share of the first cells that RDKit parses as molecules of at least two atoms."""
    types = arrow().types
    if not (types.is_string(column.type) or types.is_large_string(column.type)):
        return 0.0
    cells = [text for text in column.slice(0, LOOKED_AT).to_pylist() if text]
    return _count_valid(cells) / max(len(cells), 1)


def _count_valid(texts: Sequence[str]) -> int:
    with rdkit() as chem:
        found = [chem.MolFromSmiles(text) for text in texts]
    return sum(one is not None and one.GetNumAtoms() > 1 for one in found)
