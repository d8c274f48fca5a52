"""Graphs kept as NumPy arrays, in three layouts that the names of the arrays tell apart.

- gnn-benchmark (Shchur et al. 2018): ``adj_data``, ``adj_indices``, ``adj_indptr``, ``adj_shape``, the same with
  ``attr_`` or a dense ``attr_matrix``, and ``labels``; names of classes, nodes and features are not read.
- ``scipy.sparse.save_npz``: one adjacency matrix (CSR, CSC or COO).
- plain: ``edge_index`` ``[2, E]`` and, if there are any, ``x`` ``[N, F]``, ``y``, ``edge_weight`` ``[E]`` and either
  ``num_nodes`` or, for several graphs, ``node_ptr`` ``[B + 1]``. ``y`` is of graphs with ``node_ptr``, else of nodes.

Entry ``[u, v]`` of a matrix is an edge from u to v and its weight, so it must be positive: whether a stored 0 is an
edge is anybody's guess, and refused. The two matrix layouts hold one graph, whose nodes are told apart.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from scipy.sparse import coo_array, csr_array

from nmrgcl.data.assemble import Listing, assemble
from nmrgcl.data.dataset import Dataset, Label
from nmrgcl.data.formats.arrays import (
    check_range,
    compressed_rows,
    feature_rows,
    read_arrays,
    real_numbers,
    whole_numbers,
)
from nmrgcl.errors import DataError, nearest

MAX_ISOLATED = 1_000_000
"""Nodes beyond those that edges, features or labels can name: more is a wrong number, and each would need memory."""

Arrays = dict[str, np.ndarray]
Source = Path | IO[bytes]
_CSR = ("data", "indices", "indptr", "shape")
_BENCHMARK = {*(f"adj_{k}" for k in _CSR), *(f"attr_{k}" for k in _CSR), "attr_matrix", "labels"}
_SCIPY = {*_CSR, "format", "row", "col", "_is_array"}
_PLAIN = {"edge_index", "node_ptr", "num_nodes", "x", "y", "edge_weight"}
_NOT_READ = {"class_names", "node_names", "attr_names", "metadata"}  # the originals hold pickled objects there
_REMEDY = "write the file again"


@dataclass(eq=False)
class _Parts:
    """What was found, and where: edges ``[2, R]``, their weights, features, labels, and the sizes if they are told.

    ``several``: sizes and labels are of graphs. ``backed``: the file has an entry for each node, so none is invented.
    """

    edges: np.ndarray
    weight: np.ndarray | None
    place: str
    sizes: np.ndarray | None = None
    x: np.ndarray | csr_array | None = None
    x_place: str = ""
    y: list[Label | None] | np.ndarray | None = None
    y_place: str = ""
    several: bool = False
    backed: bool = False


def read_npz(
    source: Source,
    *,
    features: Source | None = None,
    labels: Source | None = None,
    name: str | None = None,
    binary: bool = False,
    keep_directions: bool = False,
) -> Dataset:
    """The graphs in an ``.npz`` file, given by its path or as a stream that can seek.

    Args:
        source: the file.
        features: an ``.npy`` matrix, or a sparse one as ``.npz``, for a file without features; one row a node.
        labels: an ``.npy`` array for a file without labels: integers or text, NaN or empty where one is missing.
        name: what to call the dataset; the file's name if None.
        binary: positive features become 1, as the literature has it for the sets of Amazon and Coauthor.
        keep_directions: edges lead where the file says, instead of both ways.
    """
    file = str(source) if isinstance(source, Path) else name or "graphs"
    parts = _layout(read_arrays(source, file, lambda key: key not in _NOT_READ), file)
    if features is not None:
        place = str(features) if isinstance(features, Path) else "features"
        if parts.x is not None:
            raise DataError(f"{parts.x_place}: holds features already; leave out {place}")
        parts.x, parts.x_place = _features(read_arrays(features, place), place), place
    if labels is not None:
        place = str(labels) if isinstance(labels, Path) else "labels"
        if parts.y is not None:
            raise DataError(f"{parts.y_place}: holds labels already; leave out {place}")
        parts.y, parts.y_place = _labels(_single(read_arrays(labels, place), place), place), place
    if binary and parts.x is not None:
        values = parts.x if isinstance(parts.x, np.ndarray) else parts.x.data
        values[values > 0] = 1
    stem = source.stem if isinstance(source, Path) else file
    return assemble(_listing(parts), name or stem, file, keep_directions=keep_directions)


def _layout(arrays: Arrays, file: str) -> _Parts:
    layouts = (("edge_index", _PLAIN, _plain), ("format", _SCIPY, _scipy), ("adj_data", _BENCHMARK, _benchmark))
    for key, known, read in layouts:
        if key in arrays:
            if unknown := sorted(arrays.keys() - known):
                name = unknown[0][:40]
                raise DataError(f"{file}: an array {name!a} beside {key}; {nearest(name, known)}")
            return read(arrays, file)
    raise DataError(
        f"{file}: holds neither edge_index, nor adj_data, nor a matrix of scipy.sparse.save_npz; add edge_index"
    )


def _benchmark(arrays: Arrays, file: str) -> _Parts:
    parts = _adjacency(_sparse(arrays, file, "adj_"), f"{file}, adj_")
    if "attr_matrix" in arrays:
        parts.x, parts.x_place = _dense(arrays["attr_matrix"], f"{file}, attr_matrix"), f"{file}, attr_matrix"
    elif "attr_data" in arrays:
        parts.x_place = f"{file}, attr_shape"
        parts.x = feature_rows(_sparse(arrays, file, "attr_"), parts.x_place)
    if "labels" in arrays:
        parts.y_place = f"{file}, labels"
        parts.y = _labels(arrays["labels"], parts.y_place)
    return parts


def _scipy(arrays: Arrays, file: str) -> _Parts:
    return _adjacency(_scipy_matrix(arrays, file), f"{file}, ")


def _plain(arrays: Arrays, file: str) -> _Parts:
    edges = whole_numbers(arrays["edge_index"], f"{file}, edge_index", dimensions=2)
    if len(edges) != 2:
        raise DataError(f"{file}, edge_index: has {len(edges)} rows instead of 2; {_REMEDY}")
    parts = _Parts(edges, None, f"{file}, edge_index", x_place=f"{file}, x", y_place=f"{file}, y")
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
            raise DataError(f"{file}, num_nodes: node_ptr tells it already; leave out one of the two")
        parts.sizes, parts.several = _sizes(arrays["node_ptr"], f"{file}, node_ptr"), True
    if "x" in arrays:
        parts.x = _dense(arrays["x"], parts.x_place)
    if "y" in arrays:
        parts.y = _labels(arrays["y"], parts.y_place)
    return parts


def _listing(parts: _Parts) -> Listing:
    """Count the nodes, and see that all parts are about them."""
    sizes = parts.sizes if parts.sizes is not None else np.array([_count_nodes(parts)])
    num_nodes = sum(sizes.tolist())
    if num_nodes < 1:
        raise DataError(f"{parts.place}: {num_nodes} nodes are no graph; add nodes")
    if parts.x is not None and parts.x.shape[0] != num_nodes:
        raise DataError(f"{parts.x_place}: has {parts.x.shape[0]} rows for {num_nodes} nodes; give one a node")
    count, what = (len(sizes), "graph") if parts.several else (num_nodes, "node")
    if parts.y is not None and len(parts.y) != count:
        raise DataError(f"{parts.y_place}: has {len(parts.y)} labels for {count} {what}s; give one a {what}")
    backed = parts.backed or parts.x is not None or (parts.y is not None and not parts.several)
    if not backed and num_nodes > 2 * parts.edges.shape[1] + MAX_ISOLATED:
        raise DataError(f"{parts.place}: of {num_nodes} nodes more than {MAX_ISOLATED} have no edge; number them anew")
    check_range(parts.edges, num_nodes, parts.place, "node")
    if parts.several:
        _check_graphs(parts.edges, sizes, parts.place)
    return Listing(
        sizes=sizes,
        source=parts.edges[0],
        destination=parts.edges[1],
        edge_weight=parts.weight,
        node_attributes=parts.x,
        y=parts.y,
        level="node" if parts.y is not None and not parts.several else "graph",
    )


def _count_nodes(parts: _Parts) -> int:
    if parts.x is not None:
        return int(parts.x.shape[0])
    if parts.y is not None:
        return len(parts.y)
    return int(parts.edges.max()) + 1 if parts.edges.size else 0


def _sizes(node_ptr: np.ndarray, place: str) -> np.ndarray:
    pointers = whole_numbers(node_ptr, place)
    if len(pointers) < 2 or pointers[0] != 0:
        raise DataError(f"{place}: does not begin with 0 and go on with the end of every graph; {_REMEDY}")
    if (falls := pointers[1:] < pointers[:-1]).any():
        raise DataError(f"{place}: decreases after entry {int(falls.argmax())}; {_REMEDY}")
    return np.diff(pointers)


def _check_graphs(edges: np.ndarray, sizes: np.ndarray, place: str) -> None:
    graph = np.searchsorted(np.cumsum(sizes), edges, side="right")
    if (wrong := graph[0] != graph[1]).any():
        at = int(wrong.argmax())
        raise DataError(f"{place}: column {at} joins graph {graph[0, at]} and graph {graph[1, at]}; {_REMEDY}")


def _adjacency(matrix: coo_array | csr_array, place: str) -> _Parts:
    rows, columns = matrix.shape
    if rows != columns:
        raise DataError(f"{place}shape: {rows} by {columns} is not square, so it is no adjacency matrix; {_REMEDY}")
    entries = matrix.tocoo()
    edges = np.stack([entries.row, entries.col]).astype(np.int64)
    weight = _weights(entries.data, f"{place}data")
    return _Parts(edges, weight, f"{place}shape", sizes=np.array([rows]), backed=matrix.format != "coo")


def _weights(values: np.ndarray, place: str) -> np.ndarray:
    weight = real_numbers(values, place)
    if weight.ndim != 1:
        raise DataError(f"{place}: has {weight.ndim} dimensions instead of 1; {_REMEDY}")
    if (wrong := ~(weight > 0)).any():
        at = int(wrong.argmax())
        raise DataError(f"{place}: {values[at]} at [{at}] is not a positive weight; leave out what is no edge")
    return weight


def _sparse(arrays: Arrays, file: str, prefix: str) -> csr_array:
    place = f"{file}, {prefix}"
    data, indices, indptr = (_need(arrays, f"{prefix}{key}", file) for key in _CSR[:3])
    return compressed_rows(data, indices, indptr, _shape(arrays, file, f"{prefix}shape"), place)


def _scipy_matrix(arrays: Arrays, file: str) -> coo_array | csr_array:
    layout = str(arrays["format"].reshape(-1)[0]) if arrays["format"].size == 1 else ""
    if layout == "csr":
        return _sparse(arrays, file, "")
    shape = _shape(arrays, file, "shape")
    if layout == "csc":
        return _sparse(arrays | {"shape": np.array(shape[::-1])}, file, "").T
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


def _features(arrays: Arrays, file: str) -> np.ndarray | csr_array:
    if "format" not in arrays:
        return _dense(_single(arrays, file), file)
    matrix = _scipy_matrix(arrays, file)
    if matrix.format != "csr":
        if matrix.shape[0] > matrix.nnz + MAX_ISOLATED:
            raise DataError(f"{file}, shape: {matrix.shape[0]} rows for {matrix.nnz} entries; save matrix.tocsr()")
        matrix = matrix.tocsr()
    return feature_rows(matrix, f"{file}, shape")


def _dense(array: np.ndarray, place: str) -> np.ndarray:
    values = real_numbers(array, place)
    if values.ndim != 2 or not values.shape[1]:
        raise DataError(f"{place}: has shape {values.shape} instead of nodes by features; {_REMEDY}")
    return np.ascontiguousarray(values)


def _labels(array: np.ndarray, place: str) -> list[Label | None] | np.ndarray:
    """Integers as they are; text, and floats that are whole, with None where they are empty or NaN."""
    if array.ndim != 1:
        raise DataError(f"{place}: has {array.ndim} dimensions instead of 1; labels are classes, one each")
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
            wrong = not (value != value or (value.is_integer() and abs(value) <= 1 << 53))
            values[at] = None if wrong or value != value else int(value)
        if wrong:
            raise DataError(f"{place}: {ascii(value)[:40]} at [{at}] is no class; leave out targets of a regression")
    return values


def _single(arrays: Arrays, file: str) -> np.ndarray:
    if len(arrays) != 1:
        raise DataError(f"{file}: holds {len(arrays)} arrays instead of one; write it with numpy.save")
    return next(iter(arrays.values()))


def _need(arrays: Arrays, key: str, file: str) -> np.ndarray:
    if key not in arrays:
        raise DataError(f"{file}: holds no array {key}; {_REMEDY}")
    return arrays[key]
