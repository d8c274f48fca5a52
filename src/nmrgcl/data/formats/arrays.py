"""The arrays of ``.npz`` and ``.npy`` files that nobody vouches for.

Nothing is unpickled, and memory follows the bytes that are there, never a size that a header declares.
"""

import math
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO

import numpy as np

from nmrgcl import reading
from nmrgcl.data.files.archive import ALWAYS_ALLOWED, MAX_BYTES, MAX_RATIO
from nmrgcl.errors import DataError

MAX_HEADER = 1 << 14
_BLOCK = 1 << 20
_BROKEN = (OSError, EOFError, ValueError, RuntimeError, OverflowError, zipfile.BadZipFile, zlib.error, struct.error)
_REMEDY = "write the file again"
_DTYPE = re.compile(r"[<>|=]?(b1|[iu][1248]|f[248]|[US][1-9]\d{0,5})")
_NUMBER = rb"(?:0|[1-9]\d{0,17})"
_SHAPE = rb"\((?:%b, ?(?:%b(?:, ?%b)*,?)?)?\)" % (_NUMBER, _NUMBER, _NUMBER)
_ITEM = rb"'(?:descr|fortran_order|shape)': ?(?:'[^']{1,16}'|True|False|%b)" % _SHAPE
_KEYS = (b"descr", b"fortran_order", b"shape")
_HEADER = re.compile(rb"\{ *%b, *%b, *%b,? *\} *\n?" % (_ITEM, _ITEM, _ITEM))
_VALUES = re.compile(rb"'(descr|fortran_order|shape)': ?(?:'([^']*)'|(True|False)|(\([^)]*\)))")


def read_arrays(
    source: Path | IO[bytes], file: str, wanted: Callable[[str], bool] | None = None
) -> dict[str, np.ndarray]:
    """The arrays of an ``.npz`` by name, or the one of an ``.npy`` as ``arr_0``; ``file`` is what messages call it.

    Booleans, integers, floats and text are read. Members that are not ``wanted`` are left alone, whatever they hold.
    """
    try:
        if isinstance(source, Path):
            with reading.open_file(source) as stream:
                return _read_stream(stream, file, wanted)
        return _read_stream(source, file, wanted)
    except _BROKEN as error:
        raise _damaged(file, error) from None


def make_array(descr: str, shape: tuple[int, ...], fortran: bool, data: bytes | bytearray, place: str) -> np.ndarray:
    """A writable array in the machine's byte order; the bytes must be exactly those that its shape needs."""
    dtype = _dtype(descr, shape, len(data), place)
    data = data if isinstance(data, bytearray) else bytearray(data)
    try:
        array = np.ndarray(shape, dtype, data, order="F" if fortran else "C")
    except ValueError:  # one dimension is empty and another beyond measure
        raise DataError(f"{place}: has an impossible shape; {_REMEDY}") from None
    raw = np.frombuffer(data, np.dtype("u4" if dtype.kind == "U" else "u1").newbyteorder(dtype.byteorder))
    if dtype.kind == "b" and (raw > 1).any():
        raise DataError(f"{place}: holds a boolean that is neither true nor false; {_REMEDY}")
    if dtype.kind == "U" and ((raw > 0x10FFFF) | (raw >> 11 == 0xD800 >> 11)).any():
        raise DataError(f"{place}: holds something that is not a character; {_REMEDY}")
    if dtype.kind == "S":
        if (raw > 127).any():
            raise DataError(f"{place}: holds bytes that are not ASCII text; {_REMEDY}")
        return array.astype("U")
    return array.astype(dtype.newbyteorder("="), copy=False)


def _read_stream(stream: IO[bytes], file: str, wanted: Callable[[str], bool] | None = None) -> dict[str, np.ndarray]:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    magic = stream.read(6)
    stream.seek(0)
    if magic == b"\x93NUMPY":
        return {"arr_0": _read_array(stream, size, file)}
    if not magic.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        raise DataError(f"{file}: is neither an .npz nor an .npy file; write it with numpy.savez or numpy.save")
    arrays: dict[str, np.ndarray] = {}
    with zipfile.ZipFile(stream) as archive:
        for info in _members(archive, size, file, wanted):
            place = f"{file}, {_shown(info.filename.removesuffix('.npy'))}"
            try:
                with archive.open(info) as member:
                    arrays[info.filename.removesuffix(".npy")] = _read_array(member, info.file_size, place)
            except _BROKEN as error:
                raise _damaged(place, error) from None
    return arrays


def _members(
    archive: zipfile.ZipFile, size: int, file: str, wanted: Callable[[str], bool] | None
) -> list[zipfile.ZipInfo]:
    """The wanted ones, if all of them together unpack to what a file of ``size`` bytes may hold."""
    chosen: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        name = info.filename.removesuffix(".npy")
        if wanted is not None and not wanted(name):
            continue
        if name in chosen:
            raise DataError(f"{file}: holds {_shown(name)} twice; {_REMEDY}")
        if info.flag_bits & 1:
            raise DataError(f"{file}: {_shown(name)} is encrypted; write the file without a password")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DataError(f"{file}: {_shown(name)} is packed in a way that NumPy does not write; {_REMEDY}")
        chosen[name] = info
    limit = min(MAX_BYTES, max(ALWAYS_ALLOWED, MAX_RATIO * size))
    # A zip member never yields more than the size its entry declares, so the declared sizes can be trusted.
    if sum(info.file_size for info in chosen.values()) > limit:
        raise DataError(f"{file}: unpacks to more than {limit >> 20} MiB, which no dataset of this size does; refused")
    return list(chosen.values())


def _read_array(stream: IO[bytes], size: int, place: str) -> np.ndarray:
    """The array in ``size`` bytes of the NPY format, versions 1 to 3."""
    start = stream.read(8)
    if start[:6] != b"\x93NUMPY" or start[6:] not in (b"\x01\x00", b"\x02\x00", b"\x03\x00"):
        raise DataError(f"{place}: is not an array as NumPy writes it; {_REMEDY}")
    width = 2 if start[6] == 1 else 4
    length = int.from_bytes(stream.read(width), "little")
    header = stream.read(min(length, MAX_HEADER))
    if len(header) != length or not _HEADER.fullmatch(header):
        raise DataError(f"{place}: has a header that describes no plain array (objects are not read); {_REMEDY}")
    found = {key: (text, flag, shape) for key, text, flag, shape in _VALUES.findall(header)}
    descr, fortran, shape = (found.get(key, (b"", b"", b""))[i] for i, key in enumerate(_KEYS))
    if not (descr and fortran and shape):
        raise DataError(f"{place}: has a header without descr, fortran_order or shape; {_REMEDY}")
    dimensions = tuple(int(n) for n in re.findall(rb"\d+", shape))
    expected = size - len(start) - width - length
    _dtype(descr.decode("latin1"), dimensions, expected, place)
    data = bytearray()
    while len(data) < expected and (block := stream.read(min(_BLOCK, expected - len(data)))):
        data += block
    return make_array(descr.decode("latin1"), dimensions, fortran == b"True", data, place)


def _dtype(descr: str, shape: tuple[int, ...], size: int, place: str) -> np.dtype:
    """What ``descr`` means, if so many bytes are what an array of that shape needs."""
    if not _DTYPE.fullmatch(descr):
        raise DataError(f"{place}: holds {descr!a}, not booleans, integers, floats or text; {_REMEDY}")
    dtype = np.dtype(descr)
    if math.prod(shape) * dtype.itemsize != size:
        raise DataError(f"{place}: has {size} bytes of data, but its shape needs another number; {_REMEDY}")
    return dtype


def _shown(name: str) -> str:
    return name if name.isprintable() and len(name) <= 60 else ascii(name[:60])


def _damaged(place: str, error: BaseException) -> DataError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    reason = " ".join(reason.split())[:100] or type(error).__name__
    return DataError(f"{place}: cannot be read ({reason if reason.isprintable() else ascii(reason)}); {_REMEDY}")
