"""Sparse matrices from outside are made only of arrays that belong together."""

import numpy as np
import pytest

from nmrgcl.data.formats.matrices import MAX_COLUMNS, compressed_rows, feature_rows
from nmrgcl.errors import DataError


def test_features_have_columns_within_reason() -> None:
    one, none = np.ones(1), np.zeros(1, int)
    with pytest.raises(DataError, match=f"f: {MAX_COLUMNS + 1} columns of features"):
        feature_rows(compressed_rows(one, none, np.array([0, 1]), (1, MAX_COLUMNS + 1), "f, "), "f")
    with pytest.raises(DataError, match="f: inf at"):
        feature_rows(compressed_rows(np.full(2, 3e38), np.zeros(2, int), np.array([0, 2]), (1, 1), "f, "), "f")
    with pytest.raises(DataError, match="f, shape: -1 by 3"):
        compressed_rows(one, none, np.array([], int), (-1, 3), "f, ")
    with pytest.raises(DataError, match=r"f, data: has shape \(1, 1\)"):
        compressed_rows(one[None], none, np.array([0, 1]), (1, 1), "f, ")
    with pytest.raises(DataError, match="f, indices: holds float64, not integers"):
        compressed_rows(one, one, np.array([0, 1]), (1, 1), "f, ")
    with pytest.raises(DataError, match="f, indices: holds 9223372036854775808"):
        compressed_rows(one, np.array([1 << 63], np.uint64), np.array([0, 1]), (1, 1), "f, ")
