"""The text files of a folder, a zip or a compressed tar as streams, in the order they are stored.

Nothing is ever extracted: a member's path is not used, only its last part, and its bytes go to the caller.
"""

import gzip
import lzma
import os
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Protocol, cast

from nmrgcl.errors import DataError

MAX_BYTES = 4 << 30
"""Uncompressed, all members together."""

MAX_RATIO = 500
"""COLLAB packs 128 to 1; a bomb of zeros packs 1,000 (deflate) to 7,000 (xz) to 1."""

MAX_TAR_HEADER = 1 << 20
_ALWAYS_ALLOWED = 64 << 20
_PACKING = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, struct.error)
_BROKEN: tuple[type[Exception], ...] = (OSError, EOFError, ValueError, RuntimeError, *_PACKING)


class Readable(Protocol):
    """The one thing that is asked of a stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """Up to ``size`` bytes; none at the end."""


def members(path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Readable]]:
    """Base name and stream of every file whose base name is ``wanted``; read each before asking for the next."""
    if path.is_dir():
        return _folder(path, wanted)
    with _open(path) as file:
        magic = file.read(6)
    if magic.startswith(b"PK"):
        return _zip(path, wanted)
    if magic == b"\xfd7zXZ\x00":
        return _tar(path, wanted, lambda: lzma.open(path))
    if magic.startswith(b"\x1f\x8b"):
        return _tar(path, wanted, lambda: cast(IO[bytes], gzip.open(path)))
    raise DataError(f"{path}: neither a folder nor a .zip, .tar.xz or .tar.gz archive; the file may be damaged")


class _Bounded:
    """A stream that turns every way of being broken into one line, and stops at ``limit`` bytes."""

    def __init__(self, stream: Readable, path: Path, limit: int) -> None:
        self.stream, self.path, self.limit, self.position = stream, path, limit, 0

    def read(self, size: int, /) -> bytes:
        try:
            data = self.stream.read(size)
        except _BROKEN as error:
            raise _damaged(self.path, error) from None
        self.position += len(data)
        if self.position > self.limit:
            raise _too_large(self.path)
        return data


def _folder(path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Readable]]:
    for name in sorted(os.listdir(path)):
        if wanted(name):
            with _open(path / name) as stream:
                yield name, _Bounded(stream, path / name, MAX_BYTES)


def _open(path: Path) -> IO[bytes]:
    try:
        if path.exists() and not path.is_file():
            raise DataError(f"{path}: is not a file")
        return path.open("rb")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None


def _zip(path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Readable]]:
    try:
        archive = zipfile.ZipFile(path)
    except _BROKEN as error:
        raise _damaged(path, error) from None
    with archive:
        chosen = [info for info in archive.infolist() if not info.is_dir() and wanted(_base(info.filename))]
        # A zip member never yields more than the size its entry declares, so the declared sizes can be trusted.
        if sum(info.file_size for info in chosen) > _limit(path):
            raise _too_large(path)
        for info in chosen:
            if info.flag_bits & 1:
                raise DataError(f"{path}: {info.filename} is encrypted; unpack it and pass the folder")
            try:
                stream = archive.open(info)
            except _BROKEN as error:
                raise _damaged(path, error) from None
            with stream:
                yield _base(info.filename), _Bounded(stream, path, _limit(path))


def _tar(path: Path, wanted: Callable[[str], bool], unpack: Callable[[], IO[bytes]]) -> Iterator[tuple[str, Readable]]:
    with unpack() as stream:
        reader = _Bounded(stream, path, MAX_TAR_HEADER)
        try:
            archive = tarfile.open(fileobj=cast(IO[bytes], reader), mode="r|")  # noqa: SIM115
            while (info := archive.next()) is not None:
                end = info.offset_data + info.size
                if end > _limit(path):
                    raise _too_large(path)
                # tarfile takes a header into memory whole, so only members may be long.
                reader.limit = end + MAX_TAR_HEADER
                content = archive.extractfile(info) if info.isreg() and wanted(_base(info.name)) else None
                if content is not None:
                    yield _base(info.name), _Bounded(content, path, info.size)
        except _BROKEN as error:
            raise _damaged(path, error) from None
        # The checksum of a compressed stream comes last: it counts only once all has been read.
        while reader.read(1 << 16):
            pass


def _limit(path: Path) -> int:
    return min(MAX_BYTES, max(_ALWAYS_ALLOWED, MAX_RATIO * path.stat().st_size))


def _base(name: str) -> str:
    return name.replace("\\", "/").rpartition("/")[2]


def _damaged(path: Path, error: BaseException) -> DataError:
    reason = " ".join(str(error).split()) or type(error).__name__
    return DataError(f"{path}: cannot be unpacked ({reason}); fetch the file again")


def _too_large(path: Path) -> DataError:
    return DataError(
        f"{path}: unpacks to more than {_limit(path) >> 20} MiB, which no dataset of this size does; refused"
    )
