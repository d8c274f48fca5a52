"""Arrays of ``.npz`` and ``.npy`` files that nobody vouches for: NumPy reads them once their sizes are checked."""

import math
import os
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

import numpy as np

from nmrgcl import reading
from nmrgcl.data.files.archive import ALWAYS_ALLOWED, MAX_BYTES, MAX_RATIO
from nmrgcl.errors import DataError, printable

MAX_HEADER = 1024
"""NumPy hands the header to ``ast.literal_eval``; one of 32 dimensions has 700 bytes."""

_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_REMEDY = "write the file again"


def read_arrays(
    source: Path | IO[bytes], file: str, wanted: Callable[[str], bool] | None = None
) -> dict[str, np.ndarray]:
    """The arrays of an ``.npz`` by name, or the one of an ``.npy`` as ``arr_0``; ``file`` is what messages call it.

    Booleans, integers, floats and text are read. Members that are not ``wanted`` are left alone, whatever they hold.
    """
    try:
        if isinstance(source, Path):
            with reading.open_file(source) as stream:
                return _read_stream(stream, file, wanted or (lambda _: True))
        return _read_stream(source, file, wanted or (lambda _: True))
    except DataError:
        raise
    except Exception as error:  # whatever zipfile raises at bytes it does not expect
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
    """The wanted ones, if all of them together unpack to what a file of ``size`` bytes may hold."""
    chosen: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        name = info.filename.removesuffix(".npy")
        if not wanted(name):
            continue
        if name in chosen:
            raise DataError(f"{file}: holds {_shown(name)} twice; {_REMEDY}")
        # Methods other than NumPy's may unpack without bound.
        if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DataError(f"{file}: {_shown(name)} is encrypted or packed in a way that NumPy is not; {_REMEDY}")
        chosen[name] = info
    limit = min(MAX_BYTES, max(ALWAYS_ALLOWED, MAX_RATIO * size))
    # A zip member never yields more than the size its entry declares, so the declared sizes can be trusted.
    if sum(info.file_size for info in chosen.values()) > limit:
        raise DataError(f"{file}: unpacks to more than {limit >> 20} MiB, which no dataset of this size does; refused")
    return chosen


def _read_array(stream: IO[bytes], size: int, place: str) -> np.ndarray:
    """The array in ``size`` bytes, writable and in the machine's byte order."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about headers of Python 2
            _check_header(stream, size, place)
            stream.seek(0)
            return _checked(np.lib.format.read_array(stream, allow_pickle=False, max_header_size=MAX_HEADER), place)
    except DataError:
        raise
    except Exception as error:  # a header is parsed as Python, so it may fail in any way
        raise _damaged(place, error) from None


def _check_header(stream: IO[bytes], size: int, place: str) -> None:
    """NumPy makes room for whatever a header declares, so it must be what is there."""
    version = np.lib.format.read_magic(stream)
    if version not in _HEADERS:  # the third is for records only
        raise ValueError(f"version {version[0]}.{version[1]}")
    shape, _, dtype = _HEADERS[version](stream, max_header_size=MAX_HEADER)
    if dtype.kind not in "biufUS" or not dtype.itemsize or (dtype.kind == "f" and dtype.itemsize > 8):
        raise DataError(f"{place}: holds {_shown(str(dtype))}, not booleans, integers, floats or text; {_REMEDY}")
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != size - stream.tell():
        raise DataError(f"{place}: has {size} bytes, but shape {_shown(str(shape))} needs another number; {_REMEDY}")


def _checked(array: np.ndarray, place: str) -> np.ndarray:
    """The values must be what their type says, which NumPy takes for granted; ASCII bytes become text."""
    dtype = array.dtype
    if dtype.kind in "bUS":
        raw = array.ravel("K").view(np.dtype("u4" if dtype.kind == "U" else "u1").newbyteorder(dtype.byteorder))
        wrong = raw > {"b": 1, "S": 127, "U": 0x10FFFF}[dtype.kind]
        if dtype.kind == "U":
            wrong |= raw >> 11 == 0xD800 >> 11  # half of a character of UTF-16
        if wrong.any():
            raise DataError(f"{place}: holds what is neither true nor false, or not a character; {_REMEDY}")
    return array.astype("U" if dtype.kind == "S" else dtype.newbyteorder("="), copy=False)


def _shown(name: str) -> str:
    return printable(name[:60])


def _damaged(place: str, error: Exception) -> DataError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return DataError(
        printable(f"{place}: cannot be read ({' '.join(reason.split())[:100] or type(error).__name__}); {_REMEDY}")
    )
