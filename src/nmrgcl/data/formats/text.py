"""Read text files, plain or compressed, in blocks of lines."""

import gzip
import lzma
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from nmrgcl import reading
from nmrgcl.data.files.archive import Bounded, Readable, unpacked_limit
from nmrgcl.errors import DataError

CHUNK = 1 << 16
"""Small, so that a block's objects are freed before the garbage collector runs: twice as fast."""

MAX_LINE = 256 << 20
_MARK = b"\xef\xbb\xbf"  # the byte order mark that some editors write in front of UTF-8
_LAYOUT = b" \t\r"


def stem(path: Path) -> str:
    """Return the default name of a dataset: that of its folder, or of its file without endings."""
    if path.is_dir():
        return path.absolute().name
    return Path(path.name.removesuffix(".gz").removesuffix(".xz")).stem


@contextmanager
def open_text(path: Path) -> Iterator[Readable]:
    """Open a file for reading bytes; gzip and xz are recognised by content and decompressed."""
    try:
        stream = reading.open_file(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    with stream:
        magic = stream.read(6)
        stream.seek(0)
        limit = unpacked_limit(path.stat().st_size)
        if magic.startswith(b"\x1f\x8b"):
            yield Bounded(cast(IO[bytes], gzip.GzipFile(fileobj=stream)), path, limit)
        elif magic == b"\xfd7zXZ\x00":
            with lzma.open(stream) as unpacked:
                yield Bounded(unpacked, path, limit)
        else:
            yield stream


def line_blocks(stream: Readable, file: str) -> Iterator[tuple[int, list[bytes]]]:
    """Yield blocks of lines without their ``\\n``, each with the number of its first line.

    Blank lines at the end of the file are dropped; elsewhere they are an error, and so is a line above 256 MiB.
    """
    number, blank = 1, 0
    for lines in _split(stream, file):
        kept = len(lines)
        while kept and not lines[kept - 1].strip(_LAYOUT):
            kept -= 1
        if kept:
            if blank:
                raise DataError(f"{file}, line {number - blank}: is blank; remove that line")
            yield number, lines[:kept]
            blank = 0
        number, blank = number + len(lines), blank + len(lines) - kept


def _split(stream: Readable, file: str) -> Iterator[list[bytes]]:
    pieces: list[bytes] = []
    number, length, first = 1, 0, True
    while data := stream.read(CHUNK):
        while first and len(data) < len(_MARK) and (more := stream.read(CHUNK)):
            data += more
        pieces.append(data.removeprefix(_MARK) if first else data)
        length, first = length + len(data), False
        if b"\n" in data:
            lines = b"".join(pieces).split(b"\n")
            pieces = [lines.pop()]
            length = len(pieces[0])
            yield lines
            number += len(lines)
        if length > MAX_LINE:
            raise DataError(f"{file}, line {number}: is longer than {MAX_LINE >> 20} MiB; is this a text file?")
    if last := b"".join(pieces):
        yield [last]
