"""Recognise files of molecules: a CSV file may also be an edge list, depending on its header."""

import shlex
from pathlib import Path

from nmrgcl.data.formats.csv_file import header
from nmrgcl.data.formats.edge_table import ALIASES
from nmrgcl.data.formats.text import open_text
from nmrgcl.data.molecules.columns import NAMES, likely_smiles, require_header, require_name
from nmrgcl.data.molecules.tables import SPREADSHEETS, read_table
from nmrgcl.errors import DataError, printable

ENDINGS = (".tsv", ".parquet", ".smi", ".smiles", ".txt", ".sdf", ".sd", *SPREADSHEETS)
"""Endings that are read as molecules; spreadsheets are then refused with advice."""
_EDGES = {"source", "target", *(alias for alias, meant in ALIASES.items() if meant in ("source", "target"))}
_HEADER = 1 << 20


def is_table(path: Path) -> bool:
    """Return True for a file of molecules, judged by its ending or, for CSV, by its header."""
    if not path.is_file():
        return False
    name = path.name.lower().removesuffix(".gz").removesuffix(".xz")
    return name.endswith(ENDINGS) or (name.endswith(".csv") and _header_says_molecules(path))


def require_edges(path: Path) -> None:
    """Raise DataError if the header of a CSV file has columns for neither edges nor SMILES."""
    names = _header(path)
    if not names or _EDGES & {name.lower() for name in names}:
        return
    require_header(names, path)
    listed = ", ".join(names[:6]) + (", …" if len(names) > 6 else "")
    told = f"{path}, line 1: there is no column source, target (edges) or smiles (molecules), only {listed}"
    try:
        likeliest = likely_smiles(read_table(path).columns)
    except DataError:  # RDKit is missing, or the file is not a table
        likeliest = None
    if likeliest is None:
        raise DataError(printable(f"{told}; write a header line"))
    require_name(likeliest, str(path))
    use = f"--smiles {shlex.quote(likeliest)}"
    store = f"nmrgcl datasets import {shlex.quote(str(path))} {use} --out STORE"
    raise DataError(
        printable(
            f"{told}; {likeliest!r} looks like SMILES: rename it, use {use} (embed, neighbours), or make a store for "
            f"pretrain: {store}"
        )
    )


def _header_says_molecules(path: Path) -> bool:
    names = {name.lower() for name in _header(path)}
    return not names & _EDGES and bool(names & set(NAMES))


def _header(path: Path) -> list[str]:
    """Return the cells of the first line."""
    with open_text(path) as stream:
        return header(stream.read(_HEADER))
