"""Pickled arrays, sparse matrices and dictionaries of lists, read without unpickling.

A pickle is a program that may name any function of Python and call it. Here its operations work on plain values only
(``pickle_machine``): six things are known by name, what they are given is noted (``pickle_notes``), and nothing is
imported, called or set. Arrays are made from the notes afterwards.
"""

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from nmrgcl.data.files.archive import Readable
from nmrgcl.data.formats.arrays import make_array
from nmrgcl.data.formats.matrices import compressed_rows
from nmrgcl.data.formats.pickle_machine import evaluate
from nmrgcl.data.formats.pickle_notes import REMEDY, Note, Refused
from nmrgcl.errors import DataError

MAX_PICKLE = 64 << 20
"""PubMed's largest file has 7.6 MB."""


def interpret_pickle(stream: Readable, file: str) -> np.ndarray | csr_array | dict[int | str, Any]:
    """The array, float32 matrix or dictionary in a pickle of protocol 2 to 4; ``file`` is what messages call it.

    Keys of a dictionary are integers or text; its lists hold integers only. Text of Python 2 is read as Latin-1.
    """
    data = bytearray()
    while len(data) <= MAX_PICKLE and (block := stream.read(1 << 20)):
        data += block
    if len(data) > MAX_PICKLE:
        raise DataError(f"{file}: has more than {MAX_PICKLE >> 20} MiB, which no file of this kind has; refused")
    value = evaluate(bytes(data), file)
    try:
        if isinstance(value, Note) and value.kind == "array":
            return _array(value, file)
        if isinstance(value, Note) and value.kind == "matrix":
            return _matrix(value, file)
    except Refused as error:
        raise DataError(f"{file}: {error}; {REMEDY}") from None
    if not isinstance(value, dict):
        raise DataError(f"{file}: holds no array, sparse matrix or dictionary; {REMEDY}")
    return value


def _array(note: Any, place: str) -> np.ndarray:
    if not isinstance(note, Note) or note.kind != "array" or note.state is None:
        raise Refused("holds something else where an array should be")
    descr, shape, fortran, data = note.state
    return make_array(descr, shape, fortran, data.encode("latin1") if isinstance(data, str) else data, place)


def _matrix(note: Note, place: str) -> csr_array:
    """``indptr``, ``indices`` and ``data``, checked; what else SciPy noted about the matrix can be found again."""
    state = note.state or {}
    shape = state.get("_shape")
    if not isinstance(shape, tuple) or len(shape) != 2 or any(type(n) is not int or n >> 48 for n in shape):
        raise Refused("holds a matrix with an impossible shape")
    data, indices, indptr = (_array(state.get(k), f"{place}, {k}") for k in ("data", "indices", "indptr"))
    return compressed_rows(data, indices, indptr, (shape[0], shape[1]), f"{place}, ")
