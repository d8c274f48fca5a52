"""Read the tables in files of molecules: CSV, TSV, Parquet, SMI and SDF, optionally compressed with gzip or xz."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from nmrgcl.data.formats.csv_file import arrow, header, parse_csv, read_all
from nmrgcl.data.formats.text import open_text
from nmrgcl.data.molecules.chemistry import rdkit
from nmrgcl.data.molecules.columns import is_identifier, is_text, names_column, not_utf8, require_header
from nmrgcl.errors import DataError, printable

SMILES = "smiles"
"""The name of the SMILES column in tables made from SMI and SDF files."""
SPREADSHEETS = (".xlsx", ".xls", ".ods")
"""Endings of files that are refused with the advice to save them as CSV."""

_START = 1 << 16
_SMI_LINE = rf"^\s*(?P<{SMILES}>\S+)(?:\s+(?P<name>.*?))?\s*$"


@dataclass(frozen=True, eq=False)
class MoleculeTable:
    """The table in a file.

    Attributes:
        columns: a ``pyarrow.Table`` with one row per molecule.
        lines: ``[R]`` line of each row, or its number from 1 if the format has no lines. In a CSV file, blank lines and
            quoted cells with line breaks shift the numbers after them.
        missing: the reason to give for a row without SMILES.
    """

    columns: Any
    lines: np.ndarray
    missing: str = "it is empty"


def read_table(path: Path) -> MoleculeTable:
    """Read a file according to its ending."""
    name = path.name.lower().removesuffix(".gz").removesuffix(".xz")
    read = next((reader for ending, reader in _READERS.items() if name.endswith(ending)), None)
    if name.endswith(SPREADSHEETS):
        raise DataError(printable(f"{path}: is a spreadsheet; save it as CSV UTF-8"))
    if read is None:
        known = ", ".join(_READERS)
        raise DataError(printable(f"{path}: is not a file of molecules; known: {known}, optionally with .gz or .xz"))
    with open_text(path) as stream:
        content = read_all(stream, str(path))
    if not content.strip():
        raise DataError(printable(f"{path}: is empty"))
    table = read(content, path)
    names = table.columns.column_names
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise DataError(printable(f"{path}: two columns are named {repeated[0]!r}; rename one"))
    if not table.columns.num_rows:
        raise DataError(printable(f"{path}: has a header, but no molecules"))
    return table


def _separated(content: bytes, path: Path, delimiter: str) -> MoleculeTable:
    start = content[: content.find(b"\n", _START) + 1 or None]
    require_header(header(start.lstrip(), delimiter), path, delimiter)
    columns = parse_csv(content, str(path), delimiter=delimiter)
    try:
        columns = _as_written(columns, content, delimiter)
    except UnicodeDecodeError:  # in a header of several lines
        raise not_utf8(path) from None
    columns = columns.rename_columns([name.strip() for name in columns.column_names])
    # Spreadsheets may write commas after the last column.
    used = [at for at, name in enumerate(columns.column_names) if name or columns[at].null_count < len(columns)]
    return MoleculeTable(columns.select(used or [0]), np.arange(columns.num_rows) + 2)


def _as_written(columns: Any, content: bytes, delimiter: str) -> Any:
    """Return the table with the identifiers as text, because 007 is not 7."""
    name, pyarrow = names_column(columns), arrow()
    if name is None or columns.column_names.count(name) > 1 or is_text(columns[name].type):
        return columns
    parse = pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=b'"' in content)
    convert = pyarrow.csv.ConvertOptions(include_columns=[name], column_types={name: pyarrow.string()})
    texts = pyarrow.csv.read_csv(BytesIO(content), parse_options=parse, convert_options=convert)
    return columns.set_column(columns.column_names.index(name), name, texts[name])


def _parquet(content: bytes, path: Path) -> MoleculeTable:
    pyarrow = arrow()
    try:
        columns = pyarrow.parquet.read_table(BytesIO(content))
    except (ValueError, OSError) as error:
        raise _unreadable(path, error) from None
    return MoleculeTable(columns, np.arange(columns.num_rows) + 1)


def smi_table(content: bytes, path: Path, *, before: int = 0, named: bool | None = None) -> MoleculeTable:
    """Read a SMILES and, after white space, a name per line; the first line of a file may be a header.

    ``content`` may be a range of lines: then ``before`` is the number of lines before it, and ``named`` says whether
    any molecule of the file has a name.
    """
    pyarrow = arrow()
    csv = pyarrow.csv
    try:  # as a single column, with a delimiter that does not occur in text
        lines = csv.read_csv(
            BytesIO(content.decode(errors="replace").encode()),
            read_options=csv.ReadOptions(column_names=["line"]),
            parse_options=csv.ParseOptions(delimiter="\1", quote_char=False, ignore_empty_lines=False),
            convert_options=csv.ConvertOptions(column_types={"line": pyarrow.string()}),
        )["line"]
    except ValueError as error:
        raise _unreadable(path, error) from None
    cells = pyarrow.compute.extract_regex(lines, _SMI_LINE).combine_chunks()
    smiles, names = (pyarrow.compute.struct_field(cells, part) for part in (SMILES, "name"))
    used = smiles.is_valid().to_numpy(zero_copy_only=False)
    if not before and used[0] and smiles[0].as_py().lower() == SMILES:
        used[0] = False
    kept = np.flatnonzero(used)
    nameless = pyarrow.compute.equal(names, "")
    names = pyarrow.compute.if_else(nameless, pyarrow.scalar(None, pyarrow.string()), names).take(kept)
    named = names.null_count < len(names) if named is None else named
    columns = {SMILES: smiles.take(kept)} | ({"name": names} if named else {})
    return MoleculeTable(pyarrow.table(columns), kept + before + 1)


def _sdf(content: bytes, path: Path) -> MoleculeTable:
    """Read structures as SMILES, the title as name, and the properties, as numbers if all values are numeric."""
    with rdkit() as chem:
        records = [
            (None, {}) if molecule is None else (chem.MolToSmiles(molecule), _properties(molecule))
            for molecule in chem.ForwardSDMolSupplier(BytesIO(content.decode(errors="replace").encode()))
        ]
    pyarrow = arrow()
    columns = {SMILES: pyarrow.array([text for text, _ in records], pyarrow.string())}
    for name in dict.fromkeys(name for _, properties in records for name in properties if name not in columns):
        columns[name] = pyarrow.array([properties.get(name) for _, properties in records], pyarrow.string())
        with suppress(pyarrow.ArrowInvalid):
            if not is_identifier(name):
                columns[name] = columns[name].cast(pyarrow.float64())
    return MoleculeTable(pyarrow.table(columns), np.arange(len(records)) + 1, "RDKit cannot read this record")


def _properties(molecule: Any) -> dict[str, str]:
    found = {name: molecule.GetProp(name).strip() or None for name in molecule.GetPropNames()}
    title = molecule.GetProp("_Name") if molecule.HasProp("_Name") else ""
    return ({"name": title} if title else {}) | found


def _unreadable(path: Path, error: Exception) -> DataError:
    return DataError(printable(f"{path}: cannot be read ({' '.join(str(error).split())})"))


_READERS: dict[str, Callable[[bytes, Path], MoleculeTable]] = {
    ".csv": lambda content, path: _separated(content, path, ","),
    ".tsv": lambda content, path: _separated(content, path, "\t"),
    ".parquet": _parquet,
    **dict.fromkeys((".smi", ".smiles", ".txt"), smi_table),
    **dict.fromkeys((".sdf", ".sd"), _sdf),
}
