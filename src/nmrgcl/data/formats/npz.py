"""Graphs as NumPy arrays in an ``.npz`` file; ``npz_layouts`` describes the arrays.

Features and labels may also come from files of their own.
"""

from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from nmrgcl.data.assemble import Listing, assemble
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.formats.arrays import read_arrays
from nmrgcl.data.formats.matrices import Arrays, feature_rows, sparse_matrix
from nmrgcl.data.formats.npz_layouts import NOT_READ, Parts, class_labels, dense_features, read_layout
from nmrgcl.errors import DataError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MAX_ISOLATED = 1_000_000
"""Largest number of nodes without edge, feature or label; more indicate a mistake and would take memory."""

ArrayFile = Path | IO[bytes]
_REMEDY = "write the file again"


def read_npz(
    source: ArrayFile,
    *,
    features: ArrayFile | None = None,
    labels: ArrayFile | None = None,
    name: str | None = None,
    binary: bool = False,
    keep_directions: bool = False,
) -> Dataset:
    """Read the graphs of an ``.npz`` file, given by its path or as a seekable stream.

    Args:
        source: the file.
        features: an ``.npy`` matrix, or a sparse one as ``.npz``, with one row per node, if ``source`` has none.
        labels: an ``.npy`` array of integers or text, NaN or empty where missing, if ``source`` has none.
        name: the name of the dataset; None: that of the file.
        binary: replace positive features by 1, as is usual for the Amazon and Coauthor datasets.
        keep_directions: keep the direction of edges instead of making them undirected.
    """
    file = str(source) if isinstance(source, Path) else name or "graphs"
    parts = read_layout(read_arrays(source, file, lambda key: key not in NOT_READ), file)
    if features is not None:
        place = str(features) if isinstance(features, Path) else "features"
        if parts.x is not None:
            raise DataError(f"{parts.x_place}: already contains features; leave out {place}")
        parts.x, parts.x_place = _features(read_arrays(features, place), place), place
    if labels is not None:
        place = str(labels) if isinstance(labels, Path) else "labels"
        if parts.y is not None:
            raise DataError(f"{parts.y_place}: already contains labels; leave out {place}")
        parts.y, parts.y_place = class_labels(_single(read_arrays(labels, place), place), place), place
    if binary and parts.x is not None:
        values = parts.x if isinstance(parts.x, np.ndarray) else parts.x.data
        values[values > 0] = 1
    stem = source.stem if isinstance(source, Path) else file
    return assemble(_listing(parts), name or stem, file, keep_directions=keep_directions)


def _features(arrays: Arrays, file: str) -> "np.ndarray | csr_array":
    if "format" not in arrays:
        return dense_features(_single(arrays, file), file)
    matrix = sparse_matrix(arrays, file)
    if matrix.format != "csr":
        if matrix.shape[0] > matrix.nnz + MAX_ISOLATED:
            raise DataError(f"{file}, shape: {matrix.shape[0]} rows for {matrix.nnz} entries; save matrix.tocsr()")
        matrix = matrix.tocsr()
    return feature_rows(matrix, f"{file}, shape")


def _single(arrays: Arrays, file: str) -> np.ndarray:
    if len(arrays) != 1:
        raise DataError(f"{file}: contains {len(arrays)} arrays instead of one; write it with numpy.save")
    return next(iter(arrays.values()))


def _listing(parts: Parts) -> Listing:
    """Determine the number of nodes, and check that edges, features and labels match it."""
    sizes = parts.sizes if parts.sizes is not None else np.array([_count_nodes(parts)])
    num_nodes = sum(sizes.tolist())
    if num_nodes < 1:
        raise DataError(f"{parts.place}: there are {num_nodes} nodes; a graph needs at least one")
    if parts.x is not None and parts.x.shape[0] != num_nodes:
        raise DataError(f"{parts.x_place}: has {parts.x.shape[0]} rows for {num_nodes} nodes; write one per node")
    count, what = (len(sizes), "graph") if parts.several else (num_nodes, "node")
    if parts.y is not None and len(parts.y) != count:
        raise DataError(f"{parts.y_place}: has {len(parts.y)} labels for {count} {what}s; write one per {what}")
    backed = parts.backed or parts.x is not None or (parts.y is not None and not parts.several)
    if not backed and num_nodes > 2 * parts.edges.shape[1] + MAX_ISOLATED:
        raise DataError(f"{parts.place}: of {num_nodes} nodes more than {MAX_ISOLATED} have no edge; renumber them")
    _check_edges(parts.edges, sizes, parts.place)
    return Listing(
        sizes=sizes,
        source=parts.edges[0],
        destination=parts.edges[1],
        stated=True,
        edge_weight=parts.weight,
        node_attributes=parts.x,
        y=parts.y,
        level="node" if parts.y is not None and not parts.several else "graph",
    )


def _count_nodes(parts: Parts) -> int:
    if parts.x is not None:
        return int(parts.x.shape[0])
    if parts.y is not None:
        return len(parts.y)
    return int(parts.edges.max()) + 1 if parts.edges.size else 0


def _check_edges(edges: np.ndarray, sizes: np.ndarray, place: str) -> None:
    """Require that edges join existing nodes of the same graph."""
    ends = np.cumsum(sizes)
    if (wrong := ((edges < 0) | (edges >= ends[-1])).any(0)).any():
        begin, end = edges[:, int(wrong.argmax())]
        raise DataError(
            f"{place}: an edge joins {begin} and {end}, but nodes are numbered from 0 to {ends[-1] - 1}; {_REMEDY}"
        )
    graph = np.searchsorted(ends, edges, side="right")
    if (wrong := graph[0] != graph[1]).any():
        at = int(wrong.argmax())
        raise DataError(f"{place}: column {at} joins graph {graph[0, at]} and graph {graph[1, at]}; {_REMEDY}")
