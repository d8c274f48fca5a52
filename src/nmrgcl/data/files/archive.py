"""Read the files in a folder, a zip or a compressed tar as streams, in the order in which they are stored.

Nothing is extracted to disk, and only the last part of a member's path is used. Links and devices are skipped.
"""

import gzip
import lzma
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import IO, Protocol, cast

from nmrgcl import reading
from nmrgcl.data.files.tar_header import TarHeader
from nmrgcl.errors import DataError, printable

MAX_BYTES = 4 << 30
"""Largest uncompressed size of all members together."""

MAX_RATIO = 500
"""Largest compression ratio. COLLAB has 128; a decompression bomb of zeros has 1,000 (deflate) to 7,000 (xz)."""

ALWAYS_ALLOWED = 64 << 20
"""Uncompressed size that is accepted at any ratio: a column of ones has 900."""

MAX_TAR_HEADERS = 1 << 20
"""Largest size of long names and other extensions in a tar, beyond one plain header per member."""

_CHUNK = 1 << 16


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes; none at the end."""


def members(path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Readable]]:
    """Yield base name and stream of every file whose base name is ``wanted``; read each before asking for the next.

    Unprintable characters in names are escaped.
    """
    if os.path.isdir(path):
        yield from _folder(path, wanted)
        return
    with _open(path) as file, _unpacking(path):
        magic = file.read(6)
        file.seek(0)
        if magic.startswith(b"PK"):
            yield from _zip(file, path, wanted)
        elif magic == b"\xfd7zXZ\x00":
            with lzma.open(file) as stream:
                yield from _tar(stream, path, wanted)
        elif magic.startswith(b"\x1f\x8b"):
            with gzip.open(file) as stream:
                yield from _tar(stream, path, wanted)
        else:
            raise _refused(path, "is neither a folder nor a .zip, .tar.xz or .tar.gz archive; the file may be damaged")


def unpacked_limit(size: int) -> int:
    """Return the number of bytes to which a compressed file of ``size`` bytes may unpack."""
    return min(MAX_BYTES, max(ALWAYS_ALLOWED, MAX_RATIO * size))


class Bounded:
    """A stream that raises DataError if it is damaged or yields more than ``limit`` bytes."""

    def __init__(self, stream: Readable, path: Path, limit: int) -> None:
        self.stream, self.path, self.limit, self.position = stream, path, limit, 0

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes; none at the end."""
        with _unpacking(self.path):
            data = self.stream.read(size)
        self.position += len(data)
        if self.position > self.limit:
            raise _too_large(self.path)
        return data


@contextmanager
def _unpacking(path: Path) -> Iterator[None]:
    """Turn any error of the standard library into a DataError: malformed bytes raise many different ones."""
    try:
        yield
    except DataError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise _refused(path, f"cannot be unpacked ({reason}); download or pack the file again") from None


def _folder(path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Readable]]:
    try:
        names = sorted(os.listdir(path))
    except OSError as error:
        raise _refused(path, f"cannot be read ({error.strerror})") from None
    for name in names:
        if wanted(printable(name)):
            with _open(path / name) as stream:
                yield printable(name), Bounded(stream, path / name, MAX_BYTES)


def _open(path: Path) -> IO[bytes]:
    try:
        return reading.open_file(path)
    except (OSError, ValueError) as error:
        raise _refused(path, f"cannot be read ({getattr(error, 'strerror', None) or error})") from None


def _zip(file: IO[bytes], path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Readable]]:
    with zipfile.ZipFile(file) as archive:
        listed = sorted(archive.infolist(), key=lambda info: info.header_offset)
        # Overlapping members are another kind of decompression bomb.
        if any(one.header_offset + 30 + one.compress_size > two.header_offset for one, two in pairwise(listed)):
            raise zipfile.BadZipFile("members overlap")
        chosen = [info for info in archive.infolist() if _is_plain(info) and wanted(_base(info.filename))]
        # A zip member never yields more than the size its entry declares, so the declared sizes can be trusted.
        if sum(info.file_size for info in chosen) > _limit(path):
            raise _too_large(path)
        for info in chosen:
            if info.flag_bits & 1:
                raise _refused(path, f"{info.filename} is encrypted; unpack it and pass the folder")
            # Other methods decompress a whole block at once, whatever its size.
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise _refused(path, f"{info.filename} is not compressed by deflate; unpack it and pass the folder")
            with archive.open(info) as stream:
                content = Bounded(stream, path, info.file_size)
                yield _base(info.filename), content
                while content.read(_CHUNK):  # the checksum is verified only at the end
                    pass


def _is_plain(info: zipfile.ZipInfo) -> bool:
    """Return True if a zip member is a regular file; the upper 16 bits are its Unix mode, if it has one."""
    return not info.is_dir() and stat.S_IFMT(info.external_attr >> 16) in (0, stat.S_IFREG)


def _tar(stream: Readable, path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Readable]]:
    reader = Bounded(stream, path, MAX_TAR_HEADERS)
    archive = tarfile.open(fileobj=cast(IO[bytes], reader), mode="r|", tarinfo=TarHeader)  # noqa: SIM115
    headers, before = 0, 0
    while (info := archive.next()) is not None:
        headers, before = headers + info.offset_data - before - tarfile.BLOCKSIZE, archive.offset
        if headers > MAX_TAR_HEADERS:
            raise tarfile.ReadError(f"its headers take more than {MAX_TAR_HEADERS >> 10} KiB")
        end = max(info.offset_data + info.size, archive.offset)
        if end > _limit(path):
            raise _too_large(path)
        # tarfile reads a whole header into memory, so only members may be large.
        reader.limit = end + MAX_TAR_HEADERS
        if info.isreg() and wanted(_base(info.name)):
            if info.issparse():
                raise _refused(path, f"{info.name} is a sparse member; pack it without --sparse")
            content = cast(IO[bytes], archive.extractfile(info))
            yield _base(info.name), Bounded(content, path, info.size)
        archive.members.clear()  # type: ignore[attr-defined]  # tarfile would keep all headers in memory
    _check_end(cast(IO[bytes], archive.fileobj))


def _check_end(rest: IO[bytes]) -> None:
    """Read the compressed stream to its end, because its checksum is verified only there."""
    while data := rest.read(_CHUNK):
        if any(data):
            raise tarfile.ReadError("there is data after the end of the archive")


def _limit(path: Path) -> int:
    return unpacked_limit(path.stat().st_size)


def _base(name: str) -> str:
    return printable(name.replace("\\", "/").rpartition("/")[2])


def _refused(path: Path, why: str) -> DataError:
    return DataError(printable(f"{path}: {why}"))


def _too_large(path: Path) -> DataError:
    return _refused(path, f"unpacks to more than {_limit(path) >> 20} MiB; if you trust it, unpack it yourself")
