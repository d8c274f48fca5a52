"""Arrays and sparse matrices from files that nobody vouches for.

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
from scipy.sparse import csr_array

from nmrgcl.data.files.archive import MAX_BYTES, MAX_RATIO
from nmrgcl.errors import DataError

ALWAYS_ALLOWED = 64 << 20
"""Unpacked bytes that any file may hold, however well it packs: a column of ones packs 900 to 1."""

MAX_HEADER = 1 << 14
MAX_COLUMNS = 10_000_000
"""A sparse matrix only declares its columns; a model needs memory for each."""

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
            if source.exists() and not source.is_file():
                raise DataError(f"{file}: is not a file; name an .npz or .npy file")
            with source.open("rb") as stream:
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


def whole_numbers(array: np.ndarray, place: str, *, dimensions: int = 1) -> np.ndarray:
    """The array as int64, if it holds integers in so many dimensions."""
    if array.dtype.kind not in "iu":
        raise DataError(f"{place}: holds {array.dtype.name}, not integers; {_REMEDY}")
    if array.ndim != dimensions:
        raise DataError(f"{place}: has {array.ndim} dimensions instead of {dimensions}; {_REMEDY}")
    if array.dtype == np.uint64 and array.size and int(array.max()) >= 1 << 63:
        raise DataError(f"{place}: holds {int(array.max())}, which does not fit 64 bits with a sign; {_REMEDY}")
    return array.astype(np.int64)


def check_range(index: np.ndarray, count: int, place: str, what: str) -> None:
    """Every one of the integers must count into ``count`` things."""
    if index.size and (int(index.min()) < 0 or int(index.max()) >= count):
        at = np.unravel_index(int(((index < 0) | (index >= count)).argmax()), index.shape)
        shown = ", ".join(str(i) for i in at)
        raise DataError(f"{place}: {what} {index[at]} at [{shown}], but there are {count}, counted from 0; {_REMEDY}")


def real_numbers(array: np.ndarray, place: str) -> np.ndarray:
    """The array as float32, all of it finite."""
    if array.dtype.kind not in "biuf":
        raise DataError(f"{place}: holds text, not numbers; {_REMEDY}")
    with np.errstate(over="ignore", invalid="ignore"):
        values = array.astype(np.float32)
    finite = np.isfinite(values)
    if not finite.all():
        at = np.unravel_index(int((~finite).argmax()), values.shape)
        shown = ", ".join(str(i) for i in at)
        raise DataError(f"{place}: {array[at]} at [{shown}] is not a finite 32-bit float; replace it")
    return values


def compressed_rows(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int], place: str
) -> csr_array:
    """A float32 matrix as listed, repeats and all; ``place`` ends where the name of one of the arrays may follow."""
    pointers = whole_numbers(indptr, f"{place}indptr")
    index = whole_numbers(indices, f"{place}indices")
    if min(shape) < 0:
        raise DataError(f"{place}shape: {shape[0]} by {shape[1]} is not the shape of a matrix; {_REMEDY}")
    if data.shape != index.shape:
        raise DataError(f"{place}data: has shape {data.shape}, but indices has {index.shape}; {_REMEDY}")
    if len(pointers) != shape[0] + 1:
        raise DataError(f"{place}indptr: has {len(pointers)} entries instead of {shape[0] + 1}; {_REMEDY}")
    if pointers[0] != 0 or pointers[-1] != len(index):
        raise DataError(f"{place}indptr: does not lead from 0 to the {len(index)} indices; {_REMEDY}")
    if (falls := pointers[1:] < pointers[:-1]).any():
        raise DataError(f"{place}indptr: decreases after entry {int(falls.argmax())}; {_REMEDY}")
    check_range(index, shape[1], f"{place}indices", "number")
    return csr_array((real_numbers(data, f"{place}data"), index, pointers), shape=shape)


def feature_rows(matrix: csr_array, place: str) -> csr_array:
    """The matrix with every column of a row at most once, where there are as many columns as a model can have."""
    if not 0 < matrix.shape[1] <= MAX_COLUMNS:
        raise DataError(f"{place}: {matrix.shape[1]} columns of features; from 1 to {MAX_COLUMNS} can be used")
    with np.errstate(over="ignore"):
        matrix.sum_duplicates()
    real_numbers(matrix.data, place)
    return matrix


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
