"""Three layouts of graphs as arrays, distinguished by the names of the arrays.

- gnn-benchmark (Shchur et al. 2018): ``adj_data``, ``adj_indices``, ``adj_indptr``, ``adj_shape``, the same with
  ``attr_`` or a dense ``attr_matrix``, and ``labels``; the names of classes, nodes and features are ignored.
- ``scipy.sparse.save_npz``: an adjacency matrix (CSR, CSC or COO).
- plain: ``edge_index`` ``[2, E]``; optional ``x`` ``[N, F]``, ``y``, ``edge_weight`` ``[E]`` and either ``num_nodes``
  or, for several graphs, ``node_ptr`` ``[B + 1]``. With ``node_ptr``, ``y`` labels graphs, else nodes.

An entry ``[u, v]`` of a matrix is an edge from u to v with that weight, which must be positive; a stored 0 would be
ambiguous. The two matrix layouts contain one graph, whose nodes are classified.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nmrgcl.data.dataset import Label
from nmrgcl.data.formats.matrices import Arrays, feature_rows, real_numbers, sparse_matrix, whole_numbers
from nmrgcl.errors import DataError, nearest

if TYPE_CHECKING:
    from scipy.sparse import coo_array, csc_array, csr_array

NOT_READ = {"class_names", "node_names", "attr_names", "metadata"}
"""Arrays of the first layout that are ignored; in the original files they are pickled objects."""

_CSR = ("data", "indices", "indptr", "shape")
_BENCHMARK = {*(f"adj_{k}" for k in _CSR), *(f"attr_{k}" for k in _CSR), "attr_matrix", "labels"}
_SCIPY = {*_CSR, "format", "row", "col", "_is_array"}
_PLAIN = {"edge_index", "node_ptr", "num_nodes", "x", "y", "edge_weight"}
_REMEDY = "write the file again"


@dataclass(eq=False)
class Parts:
    """The contents of a file with their places for messages; ``sizes`` is None if the file does not state it.

    ``several``: sizes and labels are those of several graphs. ``backed``: the size of the file grows with the number of
    nodes, so that a wrong number cannot take up memory.
    """

    edges: np.ndarray
    weight: np.ndarray | None
    place: str
    sizes: np.ndarray | None = None
    x: "np.ndarray | csr_array | None" = None
    x_place: str = ""
    y: list[Label | None] | np.ndarray | None = None
    y_place: str = ""
    several: bool = False
    backed: bool = False


def read_layout(arrays: Arrays, file: str) -> Parts:
    """Return the contents of a file; an unknown array is an error, because its name may be misspelt."""
    layouts = (("edge_index", _PLAIN, _plain), ("format", _SCIPY, _scipy), ("adj_data", _BENCHMARK, _benchmark))
    for key, known, read in layouts:
        if key in arrays:
            if unknown := sorted(arrays.keys() - known):
                name = unknown[0][:40]
                raise DataError(f"{file}: unknown array {name!a} in a file with {key}; {nearest(name, known)}")
            return read(arrays, file)
    raise DataError(
        f"{file}: contains neither edge_index, nor adj_data, nor a matrix of scipy.sparse.save_npz; add edge_index"
    )


def dense_features(array: np.ndarray, place: str) -> np.ndarray:
    """Return ``[N, F]`` float32 features with at least one column."""
    values = real_numbers(array, place, dimensions=2)
    if not values.shape[1]:
        raise DataError(f"{place}: has no columns; {_REMEDY}")
    return np.ascontiguousarray(values)


def class_labels(array: np.ndarray, place: str) -> list[Label | None] | np.ndarray:
    """Return integers unchanged, and text or integral floats with None where they are empty or NaN."""
    if array.ndim != 1:
        raise DataError(f"{place}: has {array.ndim} dimensions instead of 1; each node or graph has one class")
    if array.dtype.kind == "b":
        return array.astype(np.int64)
    if array.dtype.kind in "iu":
        return whole_numbers(array, place)
    values = array.tolist()
    for at, value in enumerate(values):
        if isinstance(value, str):
            values[at] = value or None
            wrong = not value.isprintable()
        else:
            # Only NaN differs from itself; it means that the class is missing.
            wrong = not (value != value or (value.is_integer() and abs(value) <= 1 << 53))
            values[at] = None if wrong or value != value else int(value)
        if wrong:
            raise DataError(f"{place}: {ascii(value)[:40]} at [{at}] is not a class; leave out regression targets")
    return values


def _benchmark(arrays: Arrays, file: str) -> Parts:
    parts = _adjacency(sparse_matrix(arrays, file, "adj_"), f"{file}, adj_")
    if "attr_matrix" in arrays:
        parts.x, parts.x_place = dense_features(arrays["attr_matrix"], f"{file}, attr_matrix"), f"{file}, attr_matrix"
    elif "attr_data" in arrays:
        parts.x_place = f"{file}, attr_shape"
        parts.x = feature_rows(sparse_matrix(arrays, file, "attr_"), parts.x_place)
    if "labels" in arrays:
        parts.y_place = f"{file}, labels"
        parts.y = class_labels(arrays["labels"], parts.y_place)
    return parts


def _scipy(arrays: Arrays, file: str) -> Parts:
    return _adjacency(sparse_matrix(arrays, file), f"{file}, ")


def _plain(arrays: Arrays, file: str) -> Parts:
    edges = whole_numbers(arrays["edge_index"], f"{file}, edge_index", dimensions=2)
    if len(edges) != 2:
        raise DataError(f"{file}, edge_index: has {len(edges)} rows instead of 2; {_REMEDY}")
    parts = Parts(edges, None, f"{file}, edge_index", x_place=f"{file}, x", y_place=f"{file}, y")
    if "edge_weight" in arrays:
        parts.weight = _weights(arrays["edge_weight"], f"{file}, edge_weight")
        if len(parts.weight) != edges.shape[1]:
            raise DataError(
                f"{file}, edge_weight: has {len(parts.weight)} entries for {edges.shape[1]} edges; {_REMEDY}"
            )
    if "num_nodes" in arrays:
        parts.sizes = whole_numbers(arrays["num_nodes"], f"{file}, num_nodes", dimensions=0).reshape(1)
    if "node_ptr" in arrays:
        if parts.sizes is not None:
            raise DataError(f"{file}, num_nodes: is redundant with node_ptr; leave out one of the two")
        parts.sizes, parts.several = _sizes(arrays["node_ptr"], f"{file}, node_ptr"), True
    if "x" in arrays:
        parts.x = dense_features(arrays["x"], parts.x_place)
    if "y" in arrays:
        parts.y = class_labels(arrays["y"], parts.y_place)
    return parts


def _sizes(node_ptr: np.ndarray, place: str) -> np.ndarray:
    pointers = whole_numbers(node_ptr, place)
    if len(pointers) < 2 or pointers[0] != 0:
        raise DataError(f"{place}: must be 0 followed by the end of every graph; {_REMEDY}")
    if (falls := pointers[1:] < pointers[:-1]).any():
        raise DataError(f"{place}: decreases after entry {int(falls.argmax())}; {_REMEDY}")
    return np.diff(pointers)


def _adjacency(matrix: "coo_array | csc_array | csr_array", place: str) -> Parts:
    rows, columns = matrix.shape
    if rows != columns:
        raise DataError(f"{place}shape: an adjacency matrix must be square, not {rows} by {columns}; {_REMEDY}")
    entries = matrix.tocoo()
    edges = np.stack([entries.row, entries.col]).astype(np.int64)
    weight = _weights(entries.data, f"{place}data")
    # CSR and CSC store a pointer for every node. COO merely states its shape, and a short file may state any.
    return Parts(edges, weight, f"{place}shape", sizes=np.array([rows]), backed=matrix.format != "coo")


def _weights(values: np.ndarray, place: str) -> np.ndarray:
    weight = real_numbers(values, place, dimensions=1)
    if (wrong := ~(weight > 0)).any():
        at = int(wrong.argmax())
        raise DataError(f"{place}: the weight {values[at]} at [{at}] is not positive; leave it out")
    return weight
