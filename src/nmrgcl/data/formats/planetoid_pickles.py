"""Read the published Planetoid files, identified by their SHA-256; all but ``test.index`` are pickles.

A pickle can execute arbitrary code. A file with another digest is refused before it is unpickled, and the unpickler
resolves only six names.
"""

import hashlib
import io
import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from nmrgcl import reading
from nmrgcl.data.files.archive import Readable
from nmrgcl.errors import DataError

MAX_BYTES = 16 << 20
"""Largest size that is read; the largest published file, PubMed's ``allx``, has 7.6 MB."""

_LIST = Path(__file__).with_name("planetoid.sha256")
DIGESTS = {name: digest for digest, name in (line.split() for line in reading.read_text(_LIST).splitlines())}


class Matrix:
    """The pickled attributes of a ``scipy.sparse.csr_matrix``."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    _shape: tuple[int, int]


_NAMES = {
    "__builtin__.list": list,
    "collections.defaultdict": defaultdict,
    "numpy.core.multiarray._reconstruct": np.empty(0).__reduce__()[0],
    "numpy.dtype": lambda code, align, copy: np.dtype(code, align=bool(align), copy=bool(copy)),
    "numpy.ndarray": np.ndarray,
    "scipy.sparse.csr.csr_matrix": Matrix,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if f"{module}.{name}" not in _NAMES:
            raise DataError(f"a Planetoid file refers to {module}.{name}, which is not allowed")
        return _NAMES[f"{module}.{name}"]


def read_published(stream: Readable, file: str) -> bytes:
    """Read the file called ``file``; raise DataError unless it is the published one."""
    data = bytearray()
    while len(data) <= MAX_BYTES and (block := stream.read(1 << 20)):
        data += block
    if hashlib.sha256(data).hexdigest() != DIGESTS.get(file):
        raise DataError(f"{file}: differs from the published Planetoid file (SHA-256); download it again")
    return bytes(data)


def unpickle(published: bytes) -> Any:
    """Return the array, ``Matrix`` or dictionary of lists in a published file, which Python 2 wrote."""
    return _Unpickler(io.BytesIO(published), encoding="latin1").load()
