"""Read arrays from untrusted ``.npz`` and ``.npy`` files: NumPy loads them after their sizes have been checked."""

import math
import os
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

import numpy as np

from nmrgcl import reading
from nmrgcl.data.files.archive import unpacked_limit
from nmrgcl.errors import DataError, printable

MAX_HEADER = 1024
"""NumPy parses the header with ``ast.literal_eval``; one for 32 dimensions has 700 bytes."""

_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_REMEDY = "write the file again"


def read_arrays(
    source: Path | IO[bytes], file: str, wanted: Callable[[str], bool] | None = None
) -> dict[str, np.ndarray]:
    """Return the arrays of an ``.npz`` by name, or that of an ``.npy`` as ``arr_0``; messages refer to it as ``file``.

    Booleans, integers, floats and text are supported. Members that are not ``wanted`` are ignored.
    """
    try:
        if isinstance(source, Path):
            with reading.open_file(source) as stream:
                return _read_stream(stream, file, wanted or (lambda _: True))
        return _read_stream(source, file, wanted or (lambda _: True))
    except DataError:
        raise
    except Exception as error:  # malformed bytes make zipfile raise many different errors
        raise _damaged(file, error) from None


def _read_stream(stream: IO[bytes], file: str, wanted: Callable[[str], bool]) -> dict[str, np.ndarray]:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    magic = stream.read(6)
    stream.seek(0)
    if magic == np.lib.format.MAGIC_PREFIX:
        return {"arr_0": _read_array(stream, size, file)}
    if not magic.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        raise DataError(f"{file}: is neither an .npz nor an .npy file; write it with numpy.savez or numpy.save")
    arrays: dict[str, np.ndarray] = {}
    with zipfile.ZipFile(stream) as archive:
        for name, info in _members(archive, size, file, wanted).items():
            with archive.open(info) as member:
                arrays[name] = _read_array(member, info.file_size, f"{file}, {_shown(name)}")
    return arrays


def _members(
    archive: zipfile.ZipFile, size: int, file: str, wanted: Callable[[str], bool]
) -> dict[str, zipfile.ZipInfo]:
    """Return the wanted members; raise if they unpack to more than a file of ``size`` bytes may hold."""
    chosen: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        name = info.filename.removesuffix(".npy")
        if not wanted(name):
            continue
        if name in chosen:
            raise DataError(f"{file}: contains {_shown(name)} twice; {_REMEDY}")
        # NumPy itself uses only these methods; others may decompress a whole block at once.
        if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DataError(f"{file}: {_shown(name)} is encrypted or compressed unlike NumPy does it; {_REMEDY}")
        chosen[name] = info
    limit = unpacked_limit(size)
    # A zip member never yields more than the size its entry declares, so the declared sizes can be trusted.
    if sum(info.file_size for info in chosen.values()) > limit:
        raise DataError(f"{file}: unpacks to more than {limit >> 20} MiB; save it uncompressed if you trust it")
    return chosen


def _read_array(stream: IO[bytes], size: int, place: str) -> np.ndarray:
    """Read the array in ``size`` bytes, writable and in native byte order."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about headers written by Python 2
            _check_header(stream, size, place)
            stream.seek(0)
            return _checked(np.lib.format.read_array(stream, allow_pickle=False, max_header_size=MAX_HEADER), place)
    except DataError:
        raise
    except Exception as error:  # the header is parsed as Python, which may raise anything
        raise _damaged(place, error) from None


def _check_header(stream: IO[bytes], size: int, place: str) -> None:
    """Compare the declared size with the actual one, because NumPy allocates whatever the header declares."""
    version = np.lib.format.read_magic(stream)
    if version not in _HEADERS:  # version 3 is for structured arrays only
        raise ValueError(f"version {version[0]}.{version[1]}")
    shape, _, dtype = _HEADERS[version](stream, max_header_size=MAX_HEADER)
    if dtype.kind not in "biufUS" or not dtype.itemsize or (dtype.kind == "f" and dtype.itemsize > 8):
        raise DataError(f"{place}: contains {_shown(str(dtype))}, not booleans, integers, floats or text; {_REMEDY}")
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != size - stream.tell():
        raise DataError(f"{place}: its {size} bytes do not match the shape {_shown(str(shape))}; {_REMEDY}")


def _checked(array: np.ndarray, place: str) -> np.ndarray:
    """Check that values are valid for their type, which NumPy does not; ASCII bytes become text."""
    dtype = array.dtype
    if dtype.kind in "bUS":
        raw = array.ravel("K").view(np.dtype("u4" if dtype.kind == "U" else "u1").newbyteorder(dtype.byteorder))
        wrong = raw > {"b": 1, "S": 127, "U": 0x10FFFF}[dtype.kind]
        if dtype.kind == "U":
            wrong |= raw >> 11 == 0xD800 >> 11  # a surrogate, half of a UTF-16 character
        if wrong.any():
            raise DataError(f"{place}: contains an invalid boolean or character; {_REMEDY}")
    return array.astype("U" if dtype.kind == "S" else dtype.newbyteorder("="), copy=False)


def _shown(name: str) -> str:
    return printable(name[:60])


def _damaged(place: str, error: Exception) -> DataError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return DataError(
        printable(f"{place}: cannot be read ({' '.join(reason.split())[:100] or type(error).__name__}); {_REMEDY}")
    )
