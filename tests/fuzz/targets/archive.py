"""Zips and compressed tars around TU files, against the standard library's own reading of the same bytes.

Checksums refuse nearly every change of a packed file, so some examples are packed only after they were changed.
"""

import gzip
import io
import lzma
import os
import tarfile
import tempfile
import zipfile
import zlib
from pathlib import Path

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.formats.tu import read_tu
from tests.fuzz.target import Files, Target
from tests.fuzz.targets import tu

FOLDER = tempfile.TemporaryDirectory(prefix="nmrgcl-fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
BLOCK = tarfile.BLOCKSIZE


def read(files: Files) -> Dataset:
    path = Path(FOLDER.name) / f"{os.getpid()}"
    path.write_bytes(_packed(files))
    return read_tu(path, "T")


def agree(files: Files, data: Dataset) -> None:
    members = _members(_packed(files))
    assert len(dict(members)) == len(members)
    tu.agree(dict(members), data)


def _packed(files: Files) -> bytes:
    """The file to read: what it is already, or what a tar becomes with its checksums made right."""
    ((name, data),) = files.items()
    if name == "T.tar":
        return gzip.compress(data, 0, mtime=0)
    if name == "T.tar, checked":
        return gzip.compress(_checked(data), 0, mtime=0)
    if name == "T.zip, checked":
        return _zip_checked(data)
    return data


def _checked(data: bytes) -> bytes:
    """A tar whose headers have the checksums they should."""
    blocks = [bytearray(data[at : at + BLOCK]) for at in range(0, len(data), BLOCK)]
    for block in blocks:
        if block[257:262] == b"ustar" and len(block) == BLOCK:
            block[148:156] = b"        "
            block[148:156] = b"%06o\0 " % sum(block)
    return b"".join(blocks)


def _zip_checked(data: bytes) -> bytes:
    """A zip of stored members whose checksums are those of the bytes that its directory points to."""
    fixed = bytearray(data)
    at = -1
    while (at := data.find(b"PK\x01\x02", at + 1)) >= 0:
        size, offset = (int.from_bytes(data[at + i : at + i + 4], "little") for i in (20, 42))
        start = offset + 30 + sum(int.from_bytes(data[offset + i : offset + i + 2], "little") for i in (26, 28))
        if at + 20 <= len(data):
            fixed[at + 16 : at + 20] = zlib.crc32(data[start : start + size]).to_bytes(4, "little")
    return bytes(fixed)


def _members(data: bytes) -> list[tuple[str, bytes]]:
    """Name and content of every plain file of the dataset; all of it is in memory, so anything may be read twice."""
    if data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            plain = [info for info in archive.infolist() if info.external_attr >> 28 in (0, 8)]
            return [(_base(info.filename), archive.read(info)) for info in plain if _base(info.filename) in tu.EXAMPLE]
    unpacked = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else lzma.decompress(data)
    with tarfile.open(fileobj=io.BytesIO(unpacked)) as tar:
        named = [(_base(info.name), tar.extractfile(info)) for info in tar.getmembers() if info.isreg()]
        return [(name, stream.read()) for name, stream in named if stream is not None and name in tu.EXAMPLE]


def _base(name: str) -> str:
    return name.replace("\\", "/").rpartition("/")[2]


def _zip(method: int, files: Files, prefix: str = "T/") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, text in files.items():
            info = zipfile.ZipInfo(prefix + name, (1980, 1, 1, 0, 0, 0))
            info.compress_type = method
            archive.writestr(info, text)
    return buffer.getvalue()


def _tar(files: Files, form: int = tarfile.USTAR_FORMAT, prefix: str = "T/") -> bytes:
    """A folder, the files, a link and a device."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(prefix + name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))
        for name, kind in (("T", tarfile.DIRTYPE), ("T/T_A.txt", tarfile.SYMTYPE), ("T/T_A.txt", tarfile.CHRTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    # What pads a tar to 10 KiB would only be mutated in vain.
    data = buffer.getvalue().rstrip(b"\0")
    return data + bytes(-len(data) % BLOCK + 2 * BLOCK)


LONG = "folder/" * 20
BARE = tu.BARE | {"T_graph_labels.txt": tu.EXAMPLE["T_graph_labels.txt"]}
EXAMPLES: dict[str, tuple[bytes, ...]] = {
    "T.zip": (
        _zip(zipfile.ZIP_STORED, BARE),
        _zip(zipfile.ZIP_DEFLATED, tu.EXAMPLE),
        _zip(zipfile.ZIP_STORED, BARE | {"README": b"hello"}, "..\\"),
    ),
    "T.zip, checked": (_zip(zipfile.ZIP_STORED, BARE),),
    "T.tar.gz": (gzip.compress(_tar(tu.EXAMPLE), mtime=0),),
    "T.tar.xz": (lzma.compress(_tar(tu.EXAMPLE)),),
    "T.tar": (_tar(BARE), _tar(BARE, tarfile.PAX_FORMAT, LONG)),
    "T.tar, checked": (_tar(BARE), _tar(BARE, tarfile.GNU_FORMAT, LONG)),
}
TARGET = Target(
    name="archive",
    examples=tuple({name: data} for name, group in EXAMPLES.items() for data in group),
    tokens=(
        *(b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06", b"PK\x06\x06", b"\x1f\x8b\x08", b"\xfd7zXZ\x00", b"ustar"),
        *(
            b"\x00",
            b"\xff\xff",
            b"\xff\xff\xff\xff",
            b"\x80\x00\x00\x00",
            b"\x01\x00",
            b"\x08\x00",
            b"../",
            b"\\",
            b"\n",
        ),
        *(b"0000000", b"7777777", b"\x80", b"1", b"2", b"5", b"L", b"K", b"S", b"x", b"g", b"9 size=1\n", b"T_A.txt"),
    ),
    read=read,
    agree=agree,
)
