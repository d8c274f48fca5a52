"""A text file, plain or packed, as blocks of lines; every way of being broken is one line to the user."""

import gzip
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from nmrgcl import reading
from nmrgcl.data.files.archive import ALWAYS_ALLOWED, MAX_BYTES, MAX_RATIO, Readable
from nmrgcl.errors import DataError

CHUNK = 1 << 16
"""Small, so that what is made of a block is gone before Python's garbage collector looks at it: twice as fast."""

MAX_LINE = 256 << 20
_MARK = b"\xef\xbb\xbf"  # some editors put it in front of UTF-8
_LAYOUT = b" \t\r"


def stem(path: Path) -> str:
    """The name of a dataset in this file, if it has no other: without endings."""
    return Path(path.name.removesuffix(".gz").removesuffix(".xz")).stem


@contextmanager
def open_text(path: Path) -> Iterator[Readable]:
    """The bytes of a file, unpacked if it is gzipped or an xz file, whatever its name."""
    try:
        stream = reading.open_file(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    with stream:
        magic = stream.read(6)
        stream.seek(0)
        limit = min(MAX_BYTES, max(ALWAYS_ALLOWED, MAX_RATIO * path.stat().st_size))
        if magic.startswith(b"\x1f\x8b"):
            yield _Unpacked(cast(IO[bytes], gzip.GzipFile(fileobj=stream)), path, limit)
        elif magic == b"\xfd7zXZ\x00":
            with lzma.open(stream) as unpacked:
                yield _Unpacked(unpacked, path, limit)
        else:
            yield stream


class _Unpacked:
    """What a packed file holds, up to ``limit`` bytes."""

    def __init__(self, stream: Readable, path: Path, limit: int) -> None:
        self.stream, self.path, self.limit, self.position = stream, path, limit, 0

    def read(self, size: int, /) -> bytes:
        try:
            data = self.stream.read(size)
        except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
            reason = " ".join(str(error).split())
            raise DataError(f"{self.path}: cannot be unpacked ({reason}); pack or fetch the file again") from None
        self.position += len(data)
        if self.position > self.limit:
            raise DataError(f"{self.path}: unpacks to more than {self.limit >> 20} MiB; unpack it and pass the result")
        return data


def line_blocks(stream: Readable, file: str) -> Iterator[tuple[int, list[bytes]]]:
    """Lines without their ``\\n``, many at a time, and the number of the first; those that end the file blank are gone.

    A line of more than 256 MiB is refused, and so is a blank one elsewhere.
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
