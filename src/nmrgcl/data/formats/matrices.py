"""Indices, numbers and sparse matrices in arrays that nobody vouches for, checked before anything counts on them."""

import numpy as np
from scipy.sparse import csr_array

from nmrgcl.errors import DataError

MAX_COLUMNS = 10_000_000
"""A sparse matrix only declares its columns; a model needs memory for each."""

_REMEDY = "write the file again"


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
