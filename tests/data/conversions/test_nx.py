from typing import Any

import pytest
import torch

from nmrgcl.data.conversions import from_networkx, to_networkx
from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs
from tests.data.conversions.test_geometric import equal
from tests.examples import random_graphs

nx = pytest.importorskip("networkx")


def test_undirected_edges_become_two_and_a_loop_stays_one() -> None:
    graph = nx.Graph([("b", "a"), ("a", "c"), ("c", "c")])  # nodes in the order b, a, c
    graphs = from_networkx(graph)
    assert graphs.edge_index.tolist() == [[1, 0, 2, 1, 2], [0, 1, 1, 2, 2]]
    assert graphs.dense_x().tolist() == [[1.0]] * 3


def test_directed_edges_stay_directed_and_parallel_ones_parallel() -> None:
    graphs = from_networkx([nx.DiGraph([(0, 1)]), nx.MultiGraph([(0, 1), (0, 1)])])
    assert graphs.edge_index.tolist() == [[0, 3, 3, 2, 2], [1, 2, 2, 3, 3]]
    assert not graphs.symmetric


def test_attributes_are_taken_by_name() -> None:
    graph = nx.Graph(y=3)
    graph.add_node(0, colour=1.5, place=[0, 1])
    graph.add_node(1, colour=2, place=(2, 3))
    graph.add_edge(0, 1, weight=0.5, kind=[1, 2])
    graphs = from_networkx([graph], node_feature="place", edge_weight="weight", edge_feature="kind", label="y")
    assert graphs.x.tolist() == [[0, 1], [2, 3]]
    assert graphs.edge_weight is not None
    assert graphs.edge_weight.tolist() == [0.5, 0.5]
    assert graphs.edge_attr is not None
    assert graphs.edge_attr.tolist() == [[1, 2], [1, 2]]
    assert graphs.y is not None
    assert graphs.y.tolist() == [3]
    assert from_networkx([graph], node_feature="colour").x.tolist() == [[1.5], [2]]


@pytest.mark.parametrize("kind", ["undirected", "directed", "uneven weights", "parallel"])
def test_there_and_back_is_the_same(kind: str) -> None:
    graphs = random_graphs([4, 1, 0, 6], density=0.6)
    edges = graphs.edge_index
    if kind == "directed":
        edges = edges[:, ::3]
    if kind == "parallel":
        edges = torch.cat([edges, edges], 1)
    weight = torch.rand(edges.shape[1]) + 0.5
    graphs = Graphs.build(edges, graphs.node_ptr, x=graphs.x, y=graphs.y, edge_weight=weight)
    if kind in ("undirected", "parallel"):
        even = weight[graphs.pair]
        graphs = Graphs.build(graphs.edge_index, graphs.node_ptr, x=graphs.x, y=graphs.y, edge_weight=even)
    converted = to_networkx(graphs)
    assert {type(g) for g in converted} == {nx.MultiGraph if kind == "parallel" else nx.Graph} or kind in (
        "directed",
        "uneven weights",
    )
    assert equal(from_networkx(converted, node_feature="x", edge_weight="weight", label="y"), graphs)


def test_numbers_of_nodes_and_edges_agree_with_networkx() -> None:
    originals = [nx.karate_club_graph(), nx.empty_graph(3), nx.petersen_graph()]
    converted = to_networkx(from_networkx(originals))
    for one, two in zip(originals, converted, strict=True):
        assert nx.utils.graphs_equal(nx.Graph(one.edges), nx.Graph(two.edges))
        assert len(one) == len(two)


def test_node_labels_and_edge_features_are_carried() -> None:
    graphs = from_networkx(nx.path_graph(3))
    labelled = Graphs.build(
        graphs.edge_index,
        graphs.node_ptr,
        y=torch.tensor([5, 6, 7]),
        y_level="node",
        edge_attr=torch.tensor([[1.0], [1.0], [2.0], [2.0]]),
    )
    (graph,) = to_networkx(labelled)
    assert dict(graph.nodes(data="y")) == {0: 5, 1: 6, 2: 7}
    assert dict(graph.edges[0, 1]) == {"edge_attr": [1.0]}
    assert dict(graph.edges[1, 2]) == {"edge_attr": [2.0]}


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("red", "must be a number"),
        (None, "is not finite"),
        ([1, 2, 3], "equally many numbers"),
        (float("nan"), "is not finite"),
        (1e300, "is not finite"),
    ],
)
def test_attributes_that_are_no_numbers_are_refused(value: Any, told: str) -> None:
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, {0: 1.0, 1: value}, "f")
    with pytest.raises(DataError, match=told):
        from_networkx(graph, node_feature="f")


def test_missing_attributes_weights_below_zero_and_no_graphs_are_refused() -> None:
    with pytest.raises(DataError, match="node 0, counted over all graphs, has no attribute 'f'"):
        from_networkx(nx.path_graph(2), node_feature="f")
    with pytest.raises(DataError, match="not a positive number"):
        from_networkx(nx.Graph([(0, 1, {"weight": -1})]), edge_weight="weight")
    with pytest.raises(DataError, match="no graphs"):
        from_networkx([])


def test_graphs_without_edges_may_still_ask_for_weights() -> None:
    graphs = from_networkx(nx.empty_graph(2), edge_weight="weight")
    assert graphs.edge_weight is not None
    assert graphs.edge_weight.shape == (0,)
