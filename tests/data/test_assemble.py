"""What directions, repeats, loops, weights and labels mean: worked by hand on three nodes."""

from typing import Any

import numpy as np
import pytest

from nmrgcl.data.assemble import Listing, assemble, encode_labels
from nmrgcl.data.dataset import Dataset
from nmrgcl.errors import DataError


def listed(rows: list[tuple[int, int]], sizes: tuple[int, ...] = (3,), **more: Any) -> Listing:
    source, destination = np.array(rows, np.int32).reshape(-1, 2).T
    return Listing(np.array(sizes), source, destination, **more)


def edges(data: Dataset) -> dict[tuple[int, int], float]:
    """Each directed edge with its weight."""
    weight = data.graphs.edge_weight
    weights = [1.0] * data.graphs.num_edges if weight is None else weight.tolist()
    return dict(zip(((u, v) for u, v in data.graphs.edge_index.T.tolist()), weights, strict=True))


def test_a_direction_counts_for_both_and_is_reported() -> None:
    data = assemble(listed([(0, 1), (1, 2), (2, 1)]), "T", "here")
    assert set(edges(data)) == {(0, 1), (1, 0), (1, 2), (2, 1)}
    assert (data.one_way_edges, data.duplicate_edges, data.self_loops) == (1, 0, 0)
    assert data.listed_edges == 3


def test_directions_are_kept_on_request() -> None:
    data = assemble(listed([(0, 1), (1, 2), (2, 1), (0, 1)]), "T", "here", keep_directions=True)
    assert set(edges(data)) == {(0, 1), (1, 2), (2, 1)}
    assert not data.graphs.symmetric
    assert (data.one_way_edges, data.duplicate_edges) == (0, 1)


def test_an_undirected_file_has_no_directions_to_keep() -> None:
    for keep in (False, True):
        data = assemble(listed([(1, 0), (0, 1), (2, 2)], mutual=True), "T", "here", keep_directions=keep)
        assert set(edges(data)) == {(0, 1), (1, 0)}
        assert (data.one_way_edges, data.duplicate_edges, data.self_loops) == (0, 1, 1)


def test_weights_of_repeats_add_up_and_of_both_directions_are_averaged() -> None:
    rows, weight = [(0, 1), (0, 1), (1, 2), (2, 1), (2, 2)], np.array([2.0, 0.5, 1.0, 4.0, 9.0])
    assert edges(assemble(listed(rows, edge_weight=weight), "T", "here")) == {
        (0, 1): 2.5, (1, 0): 2.5, (1, 2): 2.5, (2, 1): 2.5,
    }  # fmt: skip
    kept = assemble(listed(rows, edge_weight=weight), "T", "here", keep_directions=True)
    assert edges(kept) == {(0, 1): 2.5, (1, 2): 1.0, (2, 1): 4.0}
    undirected = assemble(listed(rows, edge_weight=weight, mutual=True), "T", "here")
    assert edges(undirected) == {(0, 1): 2.5, (1, 0): 2.5, (1, 2): 5.0, (2, 1): 5.0}


def test_weights_that_are_all_one_are_none() -> None:
    assert assemble(listed([(0, 1)], edge_weight=np.ones(1)), "T", "here").graphs.edge_weight is None


def test_weights_that_overflow_together_are_refused() -> None:
    with pytest.raises(DataError, match="here: an edge weight"):
        assemble(listed([(0, 1), (0, 1)], edge_weight=np.array([3e38, 3e38])), "T", "here")


def test_a_label_comes_from_the_first_row_else_from_the_reverse() -> None:
    labels = np.array([[5], [6], [7]])
    data = assemble(listed([(0, 1), (0, 1), (2, 1)], edge_labels=labels), "T", "here")
    assert data.edge_labels is not None
    found = dict(zip(edges(data), data.edge_labels[:, 0].tolist(), strict=True))
    assert found == {(0, 1): 5, (1, 0): 5, (2, 1): 7, (1, 2): 7}


def test_graphs_without_nodes_or_edges_are_graphs() -> None:
    data = assemble(listed([(3, 2)], (0, 2, 2, 0)), "T", "here")
    assert data.graphs.node_ptr.tolist() == [0, 0, 2, 4, 4]
    assert edges(assemble(listed([], (0,)), "T", "here")) == {}
    assert assemble(listed([], ()), "T", "here").counts == (0, 0, 0)


def test_some_labels_may_be_missing() -> None:
    assert encode_labels([7, None, -1, 7], "here")[0] == (-1, 7)
    assert encode_labels([7, None, -1, 7], "here")[1].tolist() == [1, -1, 0, 1]  # type: ignore[union-attr]
    assert encode_labels(["b", None, "a"], "here")[0] == ("a", "b")
    assert encode_labels([None, None], "here")[1].tolist() == [-1, -1]  # type: ignore[union-attr]
    assert encode_labels(None, "here") == ((), None)
    with pytest.raises(DataError, match="mix numbers and text"):
        encode_labels([1, "1"], "here")


def test_edges_that_leave_their_graph_are_refused() -> None:
    with pytest.raises(DataError, match="joins two graphs"):
        assemble(listed([(1, 2)], (2, 2)), "T", "here")
