"""Sparse matrices kept as several arrays under SciPy's names; every index is checked before a matrix is made."""

import numpy as np
from scipy.sparse import coo_array, csr_array

from nmrgcl.data.formats.matrices import check_range, compressed_rows, real_numbers, whole_numbers
from nmrgcl.errors import DataError

Arrays = dict[str, np.ndarray]
CSR = ("data", "indices", "indptr", "shape")
"""The arrays of a matrix in compressed rows."""

_REMEDY = "write the file again"


def row_matrix(arrays: Arrays, file: str, prefix: str) -> csr_array:
    """The matrix in compressed rows whose arrays are ``CSR`` with ``prefix`` in front."""
    place = f"{file}, {prefix}"
    data, indices, indptr = (_need(arrays, f"{prefix}{key}", file) for key in CSR[:3])
    return compressed_rows(data, indices, indptr, _shape(arrays, file, f"{prefix}shape"), place)


def scipy_matrix(arrays: Arrays, file: str) -> coo_array | csr_array:
    """The matrix that ``scipy.sparse.save_npz`` wrote: CSR, CSC or COO, as ``format`` says."""
    layout = str(arrays["format"].reshape(-1)[0]) if arrays["format"].size == 1 else ""
    if layout == "csr":
        return row_matrix(arrays, file, "")
    shape = _shape(arrays, file, "shape")
    if layout == "csc":
        return row_matrix(arrays | {"shape": np.array(shape[::-1])}, file, "").T
    if layout != "coo":
        raise DataError(f"{file}, format: {layout[:20]!a} is not csr, csc or coo; save matrix.tocsr()")
    ends = []
    values = real_numbers(_need(arrays, "data", file), f"{file}, data")
    for key, count in zip(("row", "col"), shape, strict=True):
        ends.append(whole_numbers(_need(arrays, key, file), f"{file}, {key}"))
        check_range(ends[-1], count, f"{file}, {key}", "number")
        if ends[-1].shape != values.shape:
            raise DataError(f"{file}, {key}: has {len(ends[-1])} entries, but data has another number; {_REMEDY}")
    return coo_array((values, tuple(ends)), shape=shape)


def _shape(arrays: Arrays, file: str, key: str) -> tuple[int, int]:
    shape = whole_numbers(_need(arrays, key, file), f"{file}, {key}")
    if len(shape) != 2 or not ((shape >= 0) & (shape < 1 << 48)).all():
        raise DataError(f"{file}, {key}: is not the shape of a matrix; {_REMEDY}")
    return int(shape[0]), int(shape[1])


def _need(arrays: Arrays, key: str, file: str) -> np.ndarray:
    if key not in arrays:
        raise DataError(f"{file}: holds no array {key}; {_REMEDY}")
    return arrays[key]
