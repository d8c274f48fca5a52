"""Check the indices, numbers and sparse matrices in untrusted arrays."""

from typing import TYPE_CHECKING

import numpy as np

from nmrgcl.errors import DataError

if TYPE_CHECKING:
    from scipy.sparse import coo_array, csc_array, csr_array

Arrays = dict[str, np.ndarray]
MAX_COLUMNS = 10_000_000
"""Largest number of features: a sparse file may declare any number, but a model needs memory for each."""

_INDICES = {"csr": ("indices", "indptr"), "csc": ("indices", "indptr"), "coo": ("row", "col")}
_REMEDY = "write the file again"


def whole_numbers(array: np.ndarray, place: str, *, dimensions: int = 1) -> np.ndarray:
    """Return the array as int64; it must contain integers and have this many dimensions."""
    if array.dtype.kind not in "iu":
        raise DataError(f"{place}: contains {array.dtype.name}, not integers; {_REMEDY}")
    if array.ndim != dimensions:
        raise DataError(f"{place}: has {array.ndim} dimensions instead of {dimensions}; {_REMEDY}")
    if array.dtype == np.uint64 and array.size and int(array.max()) >= 1 << 63:
        raise DataError(f"{place}: contains {int(array.max())}, which does not fit a signed 64-bit integer; {_REMEDY}")
    return array.astype(np.int64)


def real_numbers(array: np.ndarray, place: str, *, dimensions: int) -> np.ndarray:
    """Return the array as float32; it must be finite and have this many dimensions."""
    if array.dtype.kind not in "biuf":
        raise DataError(f"{place}: contains text, not numbers; {_REMEDY}")
    if array.ndim != dimensions:
        raise DataError(f"{place}: has {array.ndim} dimensions instead of {dimensions}; {_REMEDY}")
    with np.errstate(over="ignore", invalid="ignore"):
        values = array.astype(np.float32)
    finite = np.isfinite(values)
    if not finite.all():
        at = np.unravel_index(int((~finite).argmax()), values.shape)
        shown = ", ".join(str(i) for i in at)
        raise DataError(f"{place}: {array[at]} at [{shown}] is not a finite 32-bit float; replace it")
    return values


def sparse_matrix(arrays: Arrays, file: str, prefix: str = "") -> "coo_array | csc_array | csr_array":
    """Return the float32 matrix that ``scipy.sparse.save_npz`` wrote in CSR, CSC or COO format.

    If the names of its arrays have a ``prefix``, the matrix is in CSR format.
    """
    from scipy.sparse import coo_array, csc_array, csr_array  # takes long to import, and few datasets need it

    layout = "csr" if prefix else str(arrays["format"].reshape(-1)[0]) if arrays["format"].size == 1 else ""
    if layout not in _INDICES:
        raise DataError(f"{file}, format: {layout[:20]!a} must be csr, csc or coo; save matrix.tocsr()")
    names = [f"{prefix}{key}" for key in ("data", "shape", *_INDICES[layout])]
    for name in names:
        if name not in arrays:
            raise DataError(f"{file}: contains no array {name}; {_REMEDY}")
    values = real_numbers(arrays[names[0]], f"{file}, {names[0]}", dimensions=1)
    shape, first, second = (whole_numbers(arrays[name], f"{file}, {name}") for name in names[1:])
    if len(shape) != 2 or not ((shape >= 0) & (shape < 1 << 48)).all():
        raise DataError(f"{file}, {names[1]}: is not the shape of a matrix; {_REMEDY}")
    size = int(shape[0]), int(shape[1])
    try:
        if layout == "coo":
            return coo_array((values, (first, second)), shape=size)
        matrix = (csr_array if layout == "csr" else csc_array)((values, first, second), shape=size)
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise DataError(f"{file}, {' and '.join(names[2:])}: {error}; {_REMEDY}") from None
    if second[-1] != len(values):  # SciPy would ignore the rest
        raise DataError(f"{file}, {names[3]}: does not cover all {len(values)} entries; {_REMEDY}")
    return matrix


def feature_rows(matrix: "csr_array", place: str) -> "csr_array":
    """Merge repeated entries, and require a usable number of columns and finite values."""
    if not 0 < matrix.shape[1] <= MAX_COLUMNS:
        raise DataError(f"{place}: {matrix.shape[1]} feature columns; the number must be between 1 and {MAX_COLUMNS}")
    with np.errstate(over="ignore"):
        matrix.sum_duplicates()
    real_numbers(matrix.data, place, dimensions=1)
    return matrix
