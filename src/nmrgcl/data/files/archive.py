"""The text files of a folder, a zip or a compressed tar as streams, in the order they are stored.

Nothing is ever extracted: a member's path is not used, only its last part, and its bytes go to the caller. Links and
devices are passed over.
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
"""Uncompressed, all members together."""

MAX_RATIO = 500
"""COLLAB packs 128 to 1; a bomb of zeros packs 1,000 (deflate) to 7,000 (xz) to 1."""

ALWAYS_ALLOWED = 64 << 20
"""Unpacked bytes that any file may hold, however well it packs: a column of ones packs 900 to 1."""

MAX_TAR_HEADERS = 1 << 20
"""Bytes of long names and the like in a whole tar, besides one plain header a member."""

_CHUNK = 1 << 16


class Readable(Protocol):
    """The one thing that is asked of a stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """Up to ``size`` bytes; none at the end."""


def members(path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Readable]]:
    """Base name and stream of every file whose base name is ``wanted``; read each before asking for the next.

    Names come with whatever is not printable written as an escape, so that they can be shown.
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
            raise _refused(path, "neither a folder nor a .zip, .tar.xz or .tar.gz archive; the file may be damaged")


class _Bounded:
    """A stream that turns every way of being broken into one line, and stops at ``limit`` bytes."""

    def __init__(self, stream: Readable, path: Path, limit: int) -> None:
        self.stream, self.path, self.limit, self.position = stream, path, limit, 0

    def read(self, size: int, /) -> bytes:
        with _unpacking(self.path):
            data = self.stream.read(size)
        self.position += len(data)
        if self.position > self.limit:
            raise _too_large(self.path)
        return data


@contextmanager
def _unpacking(path: Path) -> Iterator[None]:
    """Whatever the standard library raises at bytes it does not expect, the user is told one line."""
    try:
        yield
    except DataError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise _refused(path, f"cannot be unpacked ({reason}); fetch the file again") from None


def _folder(path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Readable]]:
    try:
        names = sorted(os.listdir(path))
    except OSError as error:
        raise _refused(path, f"cannot be read ({error.strerror})") from None
    for name in names:
        if wanted(printable(name)):
            with _open(path / name) as stream:
                yield printable(name), _Bounded(stream, path / name, MAX_BYTES)


def _open(path: Path) -> IO[bytes]:
    try:
        return reading.open_file(path)
    except (OSError, ValueError) as error:
        raise _refused(path, f"cannot be read ({getattr(error, 'strerror', None) or error})") from None


def _zip(file: IO[bytes], path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Readable]]:
    with zipfile.ZipFile(file) as archive:
        listed = sorted(archive.infolist(), key=lambda info: info.header_offset)
        # Members that share bytes are how a small zip becomes a large one.
        if any(one.header_offset + 30 + one.compress_size > two.header_offset for one, two in pairwise(listed)):
            raise zipfile.BadZipFile("members overlap")
        chosen = [info for info in archive.infolist() if _is_plain(info) and wanted(_base(info.filename))]
        # A zip member never yields more than the size its entry declares, so the declared sizes can be trusted.
        if sum(info.file_size for info in chosen) > _limit(path):
            raise _too_large(path)
        for info in chosen:
            if info.flag_bits & 1:
                raise _refused(path, f"{info.filename} is encrypted; unpack it and pass the folder")
            # Other methods unpack what they are given in one go, however much that is.
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise _refused(path, f"{info.filename} is not packed by deflate; unpack it and pass the folder")
            with archive.open(info) as stream:
                content = _Bounded(stream, path, info.file_size)
                yield _base(info.filename), content
                while content.read(_CHUNK):  # its checksum counts only once all has been read
                    pass


def _is_plain(info: zipfile.ZipInfo) -> bool:
    """Whether a member of a zip is a file; the upper half of these bits is its Unix mode, where it has one."""
    return not info.is_dir() and stat.S_IFMT(info.external_attr >> 16) in (0, stat.S_IFREG)


def _tar(stream: Readable, path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Readable]]:
    reader = _Bounded(stream, path, MAX_TAR_HEADERS)
    archive = tarfile.open(fileobj=cast(IO[bytes], reader), mode="r|", tarinfo=TarHeader)  # noqa: SIM115
    headers, before = 0, 0
    while (info := archive.next()) is not None:
        headers, before = headers + info.offset_data - before - tarfile.BLOCKSIZE, archive.offset
        if headers > MAX_TAR_HEADERS:
            raise tarfile.ReadError(f"its headers take more than {MAX_TAR_HEADERS >> 10} KiB")
        end = max(info.offset_data + info.size, archive.offset)
        if end > _limit(path):
            raise _too_large(path)
        # tarfile takes a header into memory whole, so only members may be long.
        reader.limit = end + MAX_TAR_HEADERS
        if info.isreg() and wanted(_base(info.name)):
            if info.issparse():
                raise _refused(path, f"{info.name} is stored with holes; pack it without --sparse")
            content = cast(IO[bytes], archive.extractfile(info))
            yield _base(info.name), _Bounded(content, path, info.size)
        archive.members.clear()  # type: ignore[attr-defined]  # it would remember all of them
    _check_end(cast(IO[bytes], archive.fileobj))


def _check_end(rest: IO[bytes]) -> None:
    """The checksum of a compressed stream comes last: it counts only once all has been read."""
    while data := rest.read(_CHUNK):
        if any(data):
            raise tarfile.ReadError("something follows the end of the archive")


def _limit(path: Path) -> int:
    return min(MAX_BYTES, max(ALWAYS_ALLOWED, MAX_RATIO * path.stat().st_size))


def _base(name: str) -> str:
    return printable(name.replace("\\", "/").rpartition("/")[2])


def _refused(path: Path, why: str) -> DataError:
    return DataError(printable(f"{path}: {why}"))


def _too_large(path: Path) -> DataError:
    return _refused(path, f"unpacks to more than {_limit(path) >> 20} MiB, which no dataset of this size does; refused")
