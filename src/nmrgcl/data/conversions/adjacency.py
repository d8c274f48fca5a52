"""Adjacency matrices: NumPy arrays or SciPy sparse matrices, alone or with node features."""

from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array, issparse, vstack

from nmrgcl.data.assemble import Listing
from nmrgcl.data.categories import categories_of
from nmrgcl.data.chosen import Chosen
from nmrgcl.data.formats.matrices import real_numbers
from nmrgcl.errors import DataError, SettingError


def is_matrix(item: Any) -> bool:
    """Return True if ``item`` may be an adjacency matrix, or a pair of one and node features."""
    if isinstance(item, tuple):
        return len(item) == 2 and all(is_matrix(part) for part in item)
    return bool(issparse(item)) or (isinstance(item, np.ndarray) and item.ndim == 2 and item.dtype.kind in "biuf")


def matrix_listing(items: list[Any], chosen: Chosen) -> Listing:
    """List the edges; a non-zero entry ``[u, v]`` is an edge from u to v with that weight."""
    if chosen.node_feature or chosen.edge_feature:
        raise SettingError("adjacency matrices have no named features; leave node_feature and edge_feature out")
    parts = [_edges(item[0] if isinstance(item, tuple) else item, f"graph {i}") for i, item in enumerate(items)]
    sizes = np.array([part.shape[0] for part in parts], np.int64)
    starts = np.cumsum(sizes) - sizes
    features = _features(items, sizes)
    kinds: dict[str, list[int]] = {}
    if chosen.categorical and isinstance(features, np.ndarray) and all(item[1].dtype.kind in "iub" for item in items):
        whole = np.concatenate([item[1] for item in items]).astype(np.int64)
        kinds, features = {f"features[{c}]": column.tolist() for c, column in enumerate(whole.T)}, None
    return Listing(
        sizes=sizes,
        source=np.concatenate([part.row + start for part, start in zip(parts, starts, strict=True)]),
        destination=np.concatenate([part.col + start for part, start in zip(parts, starts, strict=True)]),
        stated=True,
        edge_weight=None if chosen.edge_weight is None else np.concatenate([part.data for part in parts]),
        node_attributes=features,
        categories=categories_of(kinds),
    )


def _edges(matrix: Any, place: str) -> coo_array:
    if matrix.shape[0] != matrix.shape[1]:
        rows, columns = matrix.shape
        raise DataError(
            f"{place}: an adjacency matrix must be square, not {rows} by {columns}; pass node features as "
            "(matrix, features)"
        )
    entries = coo_array(matrix)
    weight = real_numbers(entries.data, place, dimensions=1)
    if (wrong := ~(weight > 0)).any():
        at = int(wrong.argmax())
        ends = f"[{entries.row[at]}, {entries.col[at]}]"
        raise DataError(f"{place}: the weight {entries.data[at]} at {ends} is not positive; leave it out")
    return coo_array((weight, (entries.row.astype(np.int64), entries.col.astype(np.int64))), matrix.shape)


def _features(items: list[Any], sizes: np.ndarray) -> np.ndarray | csr_array | None:
    given: list[Any] = [item[1] if isinstance(item, tuple) else None for item in items]
    if all(features is None for features in given):
        return None
    for i, (features, size) in enumerate(zip(given, sizes.tolist(), strict=True)):
        if features is None:
            raise DataError(f"graph {i}: has no features, but others do; pass (matrix, features) for all or none")
        if features.shape[0] != size:
            raise DataError(f"graph {i}: has {features.shape[0]} rows of features for {size} nodes; pass one per node")
        if features.shape[1] != given[0].shape[1] or not features.shape[1]:
            raise DataError(f"graph {i}: has {features.shape[1]} features per node; all graphs need the same number")
    if all(issparse(features) for features in given):
        stacked = csr_array(vstack(given))
        stacked.sum_duplicates()
        stacked.data = real_numbers(stacked.data, "features", dimensions=1)
        return stacked
    dense = [features.toarray() if issparse(features) else features for features in given]
    return np.concatenate(
        [real_numbers(features, f"graph {i}, features", dimensions=2) for i, features in enumerate(dense)]
    )
