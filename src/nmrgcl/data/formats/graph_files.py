"""Files of graphs on disk: one, or all of a kind in a folder, as people count them."""

import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path

from nmrgcl import reading
from nmrgcl.data.files.archive import MAX_BYTES
from nmrgcl.errors import DataError, printable

_DIGITS = re.compile(r"([0-9]+)")


def graph_files(path: Path, suffix: str) -> Iterator[tuple[str, bytes]]:
    """Name and content of the file, or of every file in the folder that ends in ``suffix``: g2 comes before g10."""
    left = MAX_BYTES
    for file in _found(path, suffix) if os.path.isdir(path) else [path]:
        content = _content(file, left)
        left -= len(content)
        yield printable(file.name), content


def default_name(path: Path) -> str:
    """What a dataset is called that has no other name: the file without its ending, or the folder."""
    return path.absolute().name if os.path.isdir(path) else path.stem


def natural(name: str) -> list[tuple[int, int, str]]:
    """A key that sorts digits as the numbers they spell."""
    # Digits are compared by their count first, as Python refuses to convert thousands of them.
    parts = ((part, part.lstrip("0")) for part in _DIGITS.split(name))
    return [(len(bare), 1, bare) if i % 2 else (0, 0, part) for i, (part, bare) in enumerate(parts)] + [(0, 0, name)]


def _found(path: Path, suffix: str) -> list[Path]:
    try:
        names = [n for n in os.listdir(path) if n.lower().endswith(suffix) and not n.startswith(".")]
    except OSError as error:
        raise DataError(f"{printable(str(path))}: cannot be read ({error.strerror})") from None
    if not names:
        raise DataError(f"{printable(str(path))}: holds no {suffix} file; name the file or another folder")
    return [path / name for name in sorted(names, key=natural)]


def _content(path: Path, limit: int) -> bytes:
    try:
        return reading.read_bytes(path, limit)
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise DataError(
                f"{printable(str(path))}: is beyond the {MAX_BYTES >> 30} GiB that are read; split the dataset"
            ) from None
        raise DataError(f"{printable(str(path))}: cannot be read ({error.strerror})") from None
