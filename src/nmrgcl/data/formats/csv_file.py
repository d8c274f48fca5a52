"""Read CSV files with pyarrow, for edge lists and molecules."""

import csv
import re
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import numpy as np

from nmrgcl.data.files.archive import MAX_BYTES, Readable
from nmrgcl.errors import DataError, printable

MAX_COLUMNS = 20_000
"""pyarrow needs about 8 KB per column, even for few rows."""
_LARGE = 1 << 20
_PLACE = re.compile(r"(?:In CSV column #([0-9]+): )?(?:CSV parse error: )?Row #([0-9]+): (.*)", re.DOTALL)


def arrow() -> Any:
    """Import ``pyarrow`` with the submodules used here."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.csv
        import pyarrow.parquet
        import pyarrow.types
    except ImportError:
        raise DataError(
            "reading CSV and molecules needs pyarrow; pip install 'nmrgcl[csv]' (molecules: 'nmrgcl[chem]')"
        ) from None
    return pyarrow


def as_numpy(array: Any) -> np.ndarray:
    """Convert an array without missing values; Arrow's own conversion imports pandas, which takes a second."""
    return np.from_dlpack(array)


def read_all(stream: Readable, file: str) -> bytes:
    """Read the rest of a stream, which must not exceed the limit for datasets."""
    parts, left = [], MAX_BYTES
    while data := stream.read(1 << 20):  # in parts, because Python allocates the full size requested
        parts.append(data)
        left -= len(data)
        if left < 0:
            raise DataError(printable(f"{file}: exceeds the limit of {MAX_BYTES >> 30} GiB; split the file"))
    return b"".join(parts)


def header(content: bytes, delimiter: str = ",") -> list[str]:
    """Return the cells of the first line."""
    line = re.split(rb"[\r\n]", content, maxsplit=1)[0].decode("utf-8-sig", errors="replace")
    try:
        cells = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:  # a cell of more than 128 KiB
        cells = [line[:100]]
    return [cell.strip(" \t") for cell in cells]


def parse_csv(content: bytes, file: str, *, delimiter: str = ",", types: Mapping[str, Any] | None = None) -> Any:
    """Return a ``pyarrow.Table``; ``types`` replaces the column names of the first line and sets their types.

    With ``types``, row ``i`` is on line ``i + 2`` unless a quoted cell spans several lines; empty lines count as rows,
    and an empty cell is an empty string, or an error in a numeric column. Without, pyarrow infers the types.
    """
    lib = arrow().csv
    if content.count(delimiter.encode(), 0, (content + b"\n").index(b"\n")) >= MAX_COLUMNS:
        raise DataError(printable(f"{file}, line 1: more than {MAX_COLUMNS} columns are not supported"))
    quoted = b'"' in content
    parse = lib.ParseOptions(delimiter=delimiter, newlines_in_values=quoted, ignore_empty_lines=types is None)
    given: dict[str, Any] = {} if types is None else {"column_names": list(types), "skip_rows": 1}
    strict = {} if types is None else {"column_types": types, "null_values": [], "strings_can_be_null": False}

    def read(use_threads: bool) -> Any:
        options = lib.ReadOptions(use_threads=use_threads, **given)
        return lib.read_csv(BytesIO(content), options, parse, lib.ConvertOptions(**strict))

    if len(content) > _LARGE:
        try:
            return read(use_threads=True)
        except ValueError:  # ArrowInvalid is one; it names the row only without threads
            pass
    try:
        return read(use_threads=False)
    except ValueError as error:
        raise _refusal(str(error), file, list(types or header(content, delimiter))) from None


def _refusal(told: str, file: str, names: list[str]) -> DataError:
    if (found := _PLACE.match(told)) is None:
        return DataError(printable(f"{file}: cannot be read ({' '.join(told.split())[:200]})"))
    column, row, reason = found.groups()
    name = f"{names[int(column)][:32]}: " if column is not None and int(column) < len(names) else ""
    return DataError(printable(f"{file}, line {row}: {name}{' '.join(reason.split())[:100]}; correct that line"))
