"""The three layouts of .npz files on three nodes, and every way they can be wrong."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.formats.npz import read_npz
from nmrgcl.errors import DataError

DENSE = np.array([[0, 1, 2], [0, 0, 0], [0.5, 0, 0]], np.float32)
CSR = {key: getattr(sp.csr_array(DENSE), key) for key in ("data", "indices", "indptr", "shape")}
BENCHMARK = {f"{kind}_{key}": value for kind in ("adj", "attr") for key, value in CSR.items()}
BENCHMARK |= {"labels": np.array([7, -1, 7])}
PLAIN: dict[str, Any] = {"edge_index": [[0, 1, 3], [1, 0, 4]], "node_ptr": [0, 3, 5], "edge_weight": [1, 2, 0.5]}
PLAIN |= {"x": np.arange(10).reshape(5, 2), "y": ["b", "a"]}


def packed(arrays: dict[str, Any]) -> io.BytesIO:
    stream = io.BytesIO()
    np.savez(stream, **{key: value for key, value in arrays.items() if value is not None})
    return stream


def saved(array: Any) -> io.BytesIO:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream


def matrix(array: Any) -> io.BytesIO:
    stream = io.BytesIO()
    sp.save_npz(stream, array)
    return stream


def message(stream: io.BytesIO, **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        read_npz(stream, name="f", **options)
    text = str(caught.value)
    assert text.isprintable()
    assert len(text) < 250
    return text


def weights(data: Dataset) -> dict[tuple[int, int], float]:
    values = data.graphs.edge_weight
    ones = [1.0] * data.graphs.num_edges
    pairs = [(u, v) for u, v in data.graphs.edge_index.T.tolist()]
    return dict(zip(pairs, ones if values is None else values.tolist(), strict=True))


def test_the_layout_of_gnn_benchmark() -> None:
    data = read_npz(packed(BENCHMARK), name="f")
    # 0→2 weighs 2 and 2→0 weighs 0.5: undirected, both weigh the mean.
    assert weights(data) == {(0, 1): 1, (1, 0): 1, (0, 2): 1.25, (2, 0): 1.25}
    assert isinstance(data.node_attributes, sp.csr_array)
    assert np.array_equal(data.node_attributes.toarray(), DENSE)
    assert data.y is not None
    assert (data.y.tolist(), data.classes, data.level) == ([1, 0, 1], (-1, 7), "node")
    assert (data.name, data.source) == ("f", "f")
    assert weights(read_npz(packed(BENCHMARK), keep_directions=True)) == {(0, 1): 1, (0, 2): 2, (2, 0): 0.5}


def test_dense_features_and_no_labels_in_that_layout(tmp_path: Path) -> None:
    plain = {key: value for key, value in BENCHMARK.items() if key.startswith("adj")} | {"attr_matrix": DENSE}
    np.savez(tmp_path / "some.npz", **plain)
    data = read_npz(tmp_path / "some.npz")
    assert isinstance(data.node_attributes, np.ndarray)
    assert np.array_equal(data.node_attributes, DENSE)
    assert (data.y, data.level, data.name, data.source) == (None, "graph", "some", str(tmp_path / "some.npz"))


def test_names_are_left_alone_even_where_they_are_pickled() -> None:
    names = {"class_names": np.array(["a", None], object), "node_names": np.array(["x", "y", "z"])}
    assert read_npz(packed(BENCHMARK | names)).counts == (1, 3, 4)


def test_positive_features_may_count_as_one() -> None:
    features: dict[str, Any] = {"attr_data": np.array([3, -2, 0.5]), "attr_indices": np.array([0, 0, 0])}
    features |= {"attr_indptr": np.array([0, 1, 2, 3]), "attr_shape": (3, 1)}
    for more in (features, dict.fromkeys(features) | {"attr_matrix": [[3], [-2], [0.5]]}):
        for binary, expected in ((False, [3, -2, 0.5]), (True, [1, -2, 1])):
            x: Any = read_npz(packed(BENCHMARK | more), binary=binary).node_attributes
            x = x.toarray() if sp.issparse(x) else x
            assert x[:, 0].tolist() == expected


def test_repeated_entries_of_features_add_up() -> None:
    twice = {"attr_data": np.array([1, 2.5]), "attr_indices": np.array([1, 1]), "attr_indptr": np.array([0, 2, 2, 2])}
    x: Any = read_npz(packed(BENCHMARK | twice)).node_attributes
    assert x.toarray().tolist() == [[0, 3.5, 0], [0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix])
def test_a_matrix_that_scipy_saved(make: Any) -> None:
    data = read_npz(matrix(make(DENSE)), keep_directions=True)
    assert weights(data) == {(0, 1): 1, (0, 2): 2, (2, 0): 0.5}
    assert (data.counts, data.y, data.node_attributes, data.level) == ((1, 3, 3), None, None, "graph")
    x: Any = read_npz(matrix(make(DENSE)), features=matrix(make(DENSE))).node_attributes
    assert np.array_equal(x.toarray(), DENSE)


def test_features_and_labels_beside_a_matrix() -> None:
    words = saved(["b", "", "a"])
    data = read_npz(matrix(sp.csr_array(DENSE)), features=saved([[1, 2]] * 3), labels=words)
    assert data.y is not None
    assert (data.y.tolist(), data.classes, data.level) == ([1, -1, 0], ("a", "b"), "node")
    assert data.node_attributes is not None
    assert data.node_attributes.tolist() == [[1, 2]] * 3
    bare = {"edge_index": [[0], [2]]}
    assert read_npz(packed(bare), labels=saved([1, 2, 3, 4])).graphs.num_nodes == 4
    assert read_npz(packed(bare), features=saved(np.ones((5, 1)))).graphs.num_nodes == 5


def test_plain_arrays_of_several_graphs() -> None:
    data = read_npz(packed(PLAIN))
    assert data.graphs.node_ptr.tolist() == [0, 3, 5]
    assert weights(data) == {(0, 1): 1.5, (1, 0): 1.5, (3, 4): 0.5, (4, 3): 0.5}
    assert data.y is not None
    assert (data.y.tolist(), data.classes, data.level) == ([1, 0], ("a", "b"), "graph")
    assert data.node_attributes is not None
    assert data.node_attributes.tolist() == np.arange(10).reshape(5, 2).tolist()


def test_plain_arrays_of_one_graph_count_their_nodes_where_they_can() -> None:
    edges = {"edge_index": np.array([[0, 2], [1, 2]], np.uint16)}
    assert read_npz(packed(edges)).graphs.num_nodes == 3
    assert read_npz(packed(edges)).self_loops == 1
    assert read_npz(packed(edges | {"num_nodes": 9})).graphs.num_nodes == 9
    data = read_npz(packed(edges | {"y": [1.0, np.nan, 0, 2]}))
    assert data.y is not None
    assert (data.y.tolist(), data.classes, data.level) == ([1, -1, 0, 2], (0, 1, 2), "node")
    data = read_npz(packed(edges | {"y": [True, False, True]}))
    assert data.classes == (0, 1)


def without(key: str, **more: Any) -> dict[str, Any]:
    return BENCHMARK | {key: None} | more


HALF = np.array([[0, 1], [1, 0]]) / 2
ONE = {"edge_index": [[0], [1]]}
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "nothing known": ({"A": [1]}, "f: contains neither edge_index, nor adj_data, nor"),
    "a slip": (
        ONE | {"edge_weights": [1]},
        "f: unknown array 'edge_weights' in a file with edge_index; did you mean edge_weight",
    ),
    "several labels": (BENCHMARK | {"labels_data": [1]}, "f: unknown array 'labels_data' in a file with adj_data"),
    "incomplete": (without("adj_indptr"), "f: contains no array adj_indptr"),
    "incomplete features": (without("attr_shape"), "f: contains no array attr_shape"),
    "not square": (BENCHMARK | {"adj_shape": (3, 4)}, "f, adj_shape: an adjacency matrix must be square, not 3 by 4"),
    "no shape": (BENCHMARK | {"adj_shape": (3, 3, 3)}, "f, adj_shape: is not the shape of a matrix"),
    "column": (BENCHMARK | {"adj_indices": [1, 3, 0]}, "f, adj_indices and adj_indptr: indices must be < 3"),
    "negative column": (BENCHMARK | {"adj_indices": [1, -1, 0]}, "f, adj_indices and adj_indptr: indices must be >= 0"),
    "decreasing": (BENCHMARK | {"adj_indptr": [0, 3, 2, 3]}, "f, adj_indices and adj_indptr: "),
    "beginning": (BENCHMARK | {"adj_indptr": [1, 2, 2, 3]}, "f, adj_indices and adj_indptr: "),
    "beyond the end": (BENCHMARK | {"adj_indptr": [0, 2, 2, 4]}, "f, adj_indices and adj_indptr: "),
    "before the end": (BENCHMARK | {"adj_indptr": [0, 2, 2, 2]}, "f, adj_indptr: does not cover all 3 entries"),
    "pointers of other rows": (BENCHMARK | {"adj_indptr": [0, 2, 3]}, "f, adj_indices and adj_indptr: "),
    "no pointers": (BENCHMARK | {"adj_indptr": np.zeros(0, int)}, "f, adj_indices and adj_indptr: "),
    "entries": (BENCHMARK | {"adj_data": [1.0, 2]}, "f, adj_indices and adj_indptr: "),
    "columns of entries": (BENCHMARK | {"adj_data": [[1.0], [2], [3]]}, "f, adj_data: has 2 dimensions instead of 1"),
    "minus columns": (BENCHMARK | {"adj_shape": (3, -3)}, "f, adj_shape: is not the shape of a matrix"),
    "unsigned": (
        BENCHMARK | {"adj_indices": np.array([1, 1 << 63, 0], np.uint64)},
        "contains 9223372036854775808, which",
    ),
    "sum of repeats": (
        BENCHMARK | {"attr_data": [3e38, 3e38, 0], "attr_indices": [1, 1, 0]},
        "f, attr_shape: inf at [0] is not a finite",
    ),
    "stored zero": (BENCHMARK | {"adj_data": [1, 0, 1]}, "f, adj_data: the weight 0.0 at [1] is not positive"),
    "negative": (BENCHMARK | {"adj_data": [1, -2, 1]}, "f, adj_data: the weight -2.0 at [1] is not positive"),
    "vanishing": (BENCHMARK | {"adj_data": [1, 1e-50, 1]}, "f, adj_data: the weight 0.0 at [1] is not positive"),
    "must be a number": (BENCHMARK | {"adj_data": [1, np.nan, 1]}, "f, adj_data: nan at [1] is not a finite"),
    "too large": (BENCHMARK | {"attr_data": [1, 1e39, 1]}, "f, attr_data: 1e+39 at [1] is not a finite"),
    "text": (BENCHMARK | {"attr_data": ["a", "b", "c"]}, "f, attr_data: contains text"),
    "float pointers": (BENCHMARK | {"attr_indptr": [0.0, 2, 2, 3]}, "f, attr_indptr: contains float64, not integers"),
    "columns": (BENCHMARK | {"attr_shape": (3, 10**9)}, "f, attr_shape: 1000000000 feature columns"),
    "feature rows": (
        BENCHMARK | {"attr_indptr": [0, 2, 3], "attr_shape": (2, 3)},
        "f, attr_shape: has 2 rows for 3 nodes",
    ),
    "labels": (BENCHMARK | {"labels": [1, 2]}, "f, labels: has 2 labels for 3 nodes; write one per node"),
    "label rows": (BENCHMARK | {"labels": [[1], [2], [3]]}, "f, labels: has 2 dimensions instead of 1"),
    "targets": (BENCHMARK | {"labels": [1, 2.5, 3]}, "f, labels: 2.5 at [1] is not a class"),
    "infinite": (BENCHMARK | {"labels": [1, np.inf, 3]}, "f, labels: inf at [1] is not a class"),
    "unprintable": (BENCHMARK | {"labels": ["a", "\x1b", "c"]}, r"f, labels: '\x1b' at [1] is not a class"),
    "diagonals": (
        {"format": b"dia", "shape": (2, 2), "data": HALF, "row": [1]},
        "f, format: 'dia' must be csr, csc or coo",
    ),
    "no format": ({"format": [b"a", b"b"], "shape": (2, 2)}, "f, format: '' must be csr"),
    "coo": (
        {"format": b"coo", "shape": (2, 2), "data": [1], "row": [2], "col": [0]},
        "f, row and col: axis 0 index 2 exceeds matrix dimension 2",
    ),
    "coo lengths": (
        {"format": b"coo", "shape": (2, 2), "data": [1], "row": [1], "col": [0, 1]},
        "f, row and col: all index and data arrays must have the same length",
    ),
    "coo nodes": (
        {"format": b"coo", "shape": (10**9, 10**9), "data": [1], "row": [1], "col": [0]},
        "f, shape: of 1000000000 nodes more than 1000000 have no edge",
    ),
    "rows of edges": ({"edge_index": [[0, 1]]}, "f, edge_index: has 1 rows instead of 2"),
    "flat edges": ({"edge_index": [0, 1]}, "f, edge_index: has 1 dimensions instead of 2"),
    "float edges": ({"edge_index": [[0.0], [1.0]]}, "f, edge_index: contains float64, not integers"),
    "no nodes": ({"edge_index": np.zeros((2, 0), int)}, "f, edge_index: there are 0 nodes"),
    "minus nodes": (ONE | {"num_nodes": -4}, "f, edge_index: there are -4 nodes"),
    "outside": (ONE | {"num_nodes": 1}, "f, edge_index: an edge joins 0 and 1, but nodes are numbered from 0 to 0"),
    "before": (
        {"edge_index": [[0, -1], [1, 1]]},
        "f, edge_index: an edge joins -1 and 1, but nodes are numbered from 0 to 1",
    ),
    "far": ({"edge_index": [[0], [10**15]]}, "f, edge_index: of 1000000000000001 nodes more than"),
    "declared": (ONE | {"num_nodes": 10**15}, "f, edge_index: of 1000000000000000 nodes more than"),
    "several numbers": (ONE | {"num_nodes": [2]}, "f, num_nodes: has 1 dimensions instead of 0"),
    "both": (PLAIN | {"num_nodes": 5}, "f, num_nodes: is redundant with node_ptr"),
    "pointers": (PLAIN | {"node_ptr": [0, 6, 5]}, "f, node_ptr: decreases after entry 1"),
    "first pointer": (PLAIN | {"node_ptr": [1, 3, 5]}, "f, node_ptr: must be 0 followed by"),
    "one pointer": (PLAIN | {"node_ptr": [0]}, "f, node_ptr: must be 0 followed by"),
    "two graphs": (PLAIN | {"node_ptr": [0, 1, 5]}, "f, edge_index: column 0 joins graph 0 and graph 1"),
    "graph labels": (PLAIN | {"y": [1, 2, 3, 4, 5]}, "f, y: has 5 labels for 2 graphs; write one per graph"),
    "weights": (PLAIN | {"edge_weight": [1, 2]}, "f, edge_weight: has 2 entries for 3 edges"),
    "weight rows": (PLAIN | {"edge_weight": [[1], [2], [3]]}, "f, edge_weight: has 2 dimensions instead of 1"),
    "flat features": (PLAIN | {"x": [1, 2, 3, 4, 5]}, "f, x: has 1 dimensions instead of 2"),
    "no features": (PLAIN | {"x": np.ones((5, 0))}, "f, x: has no columns"),
    "few features": (PLAIN | {"x": np.ones((4, 1))}, "f, x: has 4 rows for 5 nodes"),
}


@pytest.mark.parametrize(("arrays", "expected"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named_by_its_key(arrays: dict[str, Any], expected: str) -> None:
    assert expected in message(packed(arrays))


def test_features_and_labels_stand_in_one_place_and_fit() -> None:
    three = saved([1, 2, 3])
    assert "f, labels: already contains labels; leave out labels" in message(packed(BENCHMARK), labels=three)
    assert "f, attr_shape: already contains features" in message(packed(BENCHMARK), features=saved(np.ones((3, 1))))
    graph = matrix(sp.csr_array(DENSE))
    assert "labels: has 2 labels for 3 nodes" in message(graph, labels=saved([1, 2]))
    assert "features: has 2 rows for 3 nodes" in message(graph, features=saved([[1], [2]]))
    assert "features: has 1 dimensions instead of 2" in message(graph, features=three)
    assert "labels: contains 2 arrays instead of one" in message(graph, labels=packed({"a": 1, "b": 2}))
    far = sp.coo_array(([1.0], ([0], [0])), shape=(10**12, 1))
    assert "features, shape: 1000000000000 rows for 1 entries" in message(graph, features=matrix(far))
    assert "labels: contains object, not booleans" in message(graph, labels=saved(np.array([None], object)))
