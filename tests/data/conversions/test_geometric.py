from typing import Any

import pytest
import torch
from torch import Tensor

from nmrgcl.data.conversions import from_pyg, to_pyg
from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs
from tests.examples import random_graphs

geometric = pytest.importorskip("torch_geometric.data")
Batch, Data, HeteroData = geometric.Batch, geometric.Data, geometric.HeteroData

EDGES = torch.tensor([[2, 0, 1], [0, 2, 1]])


def same(a: Tensor | None, b: Tensor | None) -> bool:
    return (a is None and b is None) or (a is not None and b is not None and torch.equal(a, b))


def equal(a: Graphs, b: Graphs) -> bool:
    names = ("edge_index", "row_ptr", "node_ptr", "batch", "pair", "y", "edge_attr", "edge_weight")
    features = torch.equal(a.dense_x(), b.dense_x())
    return features and a.y_level == b.y_level and all(same(getattr(a, n), getattr(b, n)) for n in names)


def test_a_hand_made_graph_is_sorted_with_its_edge_values() -> None:
    data = Data(
        x=torch.eye(3),
        edge_index=EDGES,
        edge_attr=torch.tensor([[20.0], [2.0], [11.0]]),
        edge_weight=torch.tensor([2.0, 0.5, 1.0]),
        y=torch.tensor([4]),
    )
    graphs = from_pyg(data)
    assert graphs.edge_index.tolist() == [[2, 1, 0], [0, 1, 2]]
    assert graphs.edge_attr is not None
    assert graphs.edge_attr[:, 0].tolist() == [20, 11, 2]
    assert graphs.edge_weight is not None
    assert graphs.edge_weight.tolist() == [2, 1, 0.5]
    assert graphs.y_level == "graph"
    assert graphs.symmetric


@pytest.mark.parametrize("categorical", [True, False])
@pytest.mark.parametrize("level", ["graph", "node"])
def test_there_and_back_is_the_same(categorical: bool, level: str) -> None:
    graphs = random_graphs([4, 1, 0, 6], density=0.5, categorical=categorical)
    count = graphs.num_edges
    graphs = Graphs.build(
        graphs.edge_index,
        graphs.node_ptr,
        x=graphs.x,
        num_features=graphs.num_features,
        y=torch.arange(4 if level == "graph" else 11),
        y_level="graph" if level == "graph" else "node",
        edge_attr=torch.randn(count, 2),
        edge_weight=torch.rand(count) + 0.1,
    )
    batch = to_pyg(graphs)
    assert batch.num_graphs == 4
    assert equal(from_pyg(batch), graphs)
    assert equal(from_pyg(batch.to_data_list()), graphs)
    loose = Data(**{k: v for k, v in batch.to_dict().items() if k != "ptr"})
    assert equal(from_pyg(loose), graphs)


def test_a_view_is_converted_as_what_it_keeps() -> None:
    graphs = random_graphs([5, 5], density=0.6)
    keep = torch.tensor([1, 1, 0, 1, 1, 0, 1, 1, 1, 1]).bool()
    batch = to_pyg(graphs.keep_nodes(keep))
    assert batch.num_nodes == 8
    assert equal(from_pyg(batch), graphs.keep_nodes(keep).compact())


def test_integer_features_are_categories_only_if_asked() -> None:
    data = [Data(x=torch.tensor([[0, 1], [2, 0]]), edge_index=EDGES[:, :0]), Data(x=torch.tensor([[1, 1]]))]
    assert from_pyg(data).x.tolist() == [[0.0, 1.0], [2.0, 0.0], [1.0, 1.0]]
    graphs = from_pyg(data, categorical=True)
    assert (graphs.x.tolist(), graphs.num_features) == ([[0, 4], [2, 3], [1, 4]], 5)
    assert graphs.dense_x().tolist() == [[1, 0, 0, 0, 1], [0, 0, 1, 1, 0], [0, 1, 0, 0, 1]]


def test_without_features_nodes_get_the_constant() -> None:
    graphs = from_pyg([Data(edge_index=EDGES, num_nodes=5, y=1), Data(edge_index=EDGES, num_nodes=3, y=0)])
    assert graphs.dense_x().tolist() == [[1.0]] * 8
    assert graphs.y is not None
    assert (graphs.y.tolist(), graphs.y_level) == ([1, 0], "graph")


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ([], "no graphs"),
        ([Data(num_nodes=2), HeteroData()], "item 1 is a HeteroData"),
        (["x"], "item 0 is a str"),
        ([Data()], "item 0 needs x or num_nodes"),
        ([Data(edge_index=EDGES)], "item 0 needs x or num_nodes"),
        ([Data(adj_t=torch.eye(2))], "item 0 has adj_t"),
        ([Data(x=torch.eye(3)), Data(num_nodes=2)], "item 1 has no x"),
        ([Data(x=torch.eye(3)), Data(x=torch.eye(2))], "x differs in width"),
        (Data(x=torch.eye(2), edge_index=EDGES), "item 0: an edge points outside its 2 nodes"),
        (Data(x=torch.eye(3), y=torch.arange(2)), "neither one row per graph nor one row per node"),
        (Data(x=torch.full((1, 1), torch.nan)), "not finite"),
        (Data(x=torch.eye(3), edge_index=EDGES, edge_weight=torch.zeros(3)), "not a positive number"),
        (Data(x=torch.eye(2), batch=torch.tensor([1, 0])), "batch is not sorted"),
    ],
)
def test_what_cannot_be_converted_is_reported(data: Any, told: str) -> None:
    with pytest.raises(DataError, match=told):
        from_pyg(data)


def test_negative_categories_are_refused() -> None:
    with pytest.raises(DataError, match="negative"):
        from_pyg(Data(x=torch.tensor([[-1]])), categorical=True)
