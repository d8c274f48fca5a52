"""Read embeddings from CSV and Parquet files: columns ``z0``, ``z1``, … and optionally ``id``, ``smiles`` and ``y``."""

from pathlib import Path
from typing import Any

import numpy as np

from nmrgcl.data.files.archive import MAX_BYTES
from nmrgcl.data.formats.classes import INTEGER
from nmrgcl.data.formats.csv_file import arrow, as_numpy, header, parse_csv, read_all
from nmrgcl.data.formats.text import open_text
from nmrgcl.data.ids import id_array
from nmrgcl.errors import DataError, printable

TABLES = (".csv", ".parquet")
BESIDE = ("id", "smiles", "y")
"""Optional columns, which precede the embeddings."""
KEY = "key"
"""The column of the position of a graph in a folder of stores."""
AT_A_TIME = 4096
"""How many rows of a Parquet file are decoded at once."""
_HEAD = 1 << 20
"""Enough bytes for the header line of a CSV file with 20,000 columns."""


def column_names(path: Path) -> list[str]:
    """The column names of a ``.csv`` or ``.parquet`` file; empty if it cannot be read."""
    try:
        if path.suffix == ".parquet":
            return list(arrow().parquet.read_schema(path).names)
        with open_text(path) as stream:
            return header(stream.read(_HEAD))
    except (DataError, ValueError, OSError):
        return []


def read_table(path: Path, beside: tuple[str, ...] = BESIDE) -> dict[str, np.ndarray]:
    """The array ``z`` and those columns of ``beside`` that are present; other columns are ignored."""
    try:
        z, others = (_read_parquet if path.suffix == ".parquet" else _read_csv)(path, beside)
        values = {name: _values(cells, f"{path}, column {name}", name) for name, cells in others.items()}
    except (ValueError, TypeError, OverflowError, OSError) as error:  # Arrow's errors are subclasses of these.
        raise DataError(printable(f"{path}: cannot be read ({' '.join(str(error).split())[:200]})")) from None
    return {"z": z, **values}


def read_tables(folder: Path, beside: tuple[str, ...] = BESIDE) -> dict[str, np.ndarray]:
    """The arrays of all Parquet files in ``folder``, in the order of their column ``key``, which counts all rows."""
    files = sorted(folder.glob("*.parquet"))
    tables = [read_table(path, (KEY, *beside)) for path in files]
    if not tables or any(KEY not in table for table in tables):
        raise DataError(f"{folder}: has no Parquet files with a column {KEY}; write them with nmrgcl embed")
    for path, table in zip(files, tables, strict=True):
        if set(table) != set(tables[0]) or table["z"].shape[1] != tables[0]["z"].shape[1]:
            raise DataError(f"{path}: has other columns than {files[0].name}; remove it or embed the library again")
    whole = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    keys = whole.pop(KEY)
    order = keys.argsort(kind="stable")
    if not np.array_equal(keys[order], np.arange(len(order))):
        raise DataError(f"{folder}: rows are missing or repeated; run nmrgcl embed with this folder again")
    return {name: values[order] for name, values in whole.items()}


def _dimensions(names: list[str], path: Path) -> list[str]:
    """The columns ``z0``, ``z1``, … up to the first one that is missing."""
    known, count = set(names), 0
    while f"z{count}" in known:
        count += 1
    if not count:
        raise DataError(printable(f"{path}: has no columns z0, z1, …; write it with nmrgcl embed"))
    return [f"z{i}" for i in range(count)]


def _read_csv(path: Path, beside: tuple[str, ...]) -> tuple[np.ndarray, dict[str, list[Any]]]:
    with open_text(path) as stream:
        content = read_all(stream, str(path))
    names = header(content)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(printable(f"{path}, line 1: two columns are named {twice[:32]!r}; keep one of them"))
    lib, numbers = arrow(), _dimensions(names, path)
    # Ids and labels are read as text: as numbers, 007 would become 7.
    types = dict.fromkeys(names, lib.string()) | dict.fromkeys(numbers, lib.float64())
    table = parse_csv(content.rstrip(b"\r\n") + b"\n", str(path), types=types)
    z = np.stack([as_numpy(table[name].combine_chunks()) for name in numbers], 1)
    with np.errstate(over="ignore"):
        single = z.astype(np.float32)  # nmrgcl embed writes float32; files from elsewhere may need more precision.
    z = single if np.array_equal(single, z, equal_nan=True) else z
    return z, {name: table[name].to_pylist() for name in beside if name in names}


def _read_parquet(path: Path, beside: tuple[str, ...]) -> tuple[np.ndarray, dict[str, list[Any]]]:
    lib = arrow()
    with lib.parquet.ParquetFile(path) as file:
        names, rows = file.schema_arrow.names, file.metadata.num_rows
        numbers = _dimensions(names, path)
        single = all(file.schema_arrow.field(name).type == lib.float32() for name in numbers)
        kind = np.dtype(np.float32 if single else np.float64)
        # A small file can declare any number of rows, for which memory is allocated below.
        if rows * len(numbers) * kind.itemsize > MAX_BYTES:
            raise ValueError(f"exceeds the limit of {MAX_BYTES >> 30} GiB")
        z, first = np.empty((rows, len(numbers)), kind), 0
        for batch in file.iter_batches(AT_A_TIME, columns=numbers):
            parts = [batch[name].to_numpy(zero_copy_only=False) for name in numbers]
            z[first : first + len(batch)] = np.stack(parts, 1)
            first += len(batch)
        others = file.read(columns=[name for name in beside if name in names])
    return z[:first], {name: others[name].to_pylist() for name in others.column_names}


def _values(cells: list[Any], place: str, name: str) -> np.ndarray:
    """An array of numbers if all cells are numbers, else of text; a missing label becomes NaN or an empty text."""
    if not all(isinstance(cell, str | None) for cell in cells):
        return np.array([np.nan if cell is None else cell for cell in cells])
    texts = [cell or "" for cell in cells]
    # NumPy stores each text at the width of the longest, with four bytes per character.
    if 4 * len(texts) * max(map(len, texts), default=0) > MAX_BYTES:
        raise DataError(printable(f"{place}: the longest text is too long for so many rows; shorten it"))
    if name == "id":
        return id_array(texts, len(texts))
    if name == "y":
        # 18 characters always fit into 64 bits.
        if all(len(text) < 19 and INTEGER.fullmatch(text) for text in texts):
            return np.array(texts).astype(np.int64)
        try:
            return np.array([float(text or "nan") for text in texts])
        except ValueError:
            pass
    return np.array(texts, dtype=np.str_)
