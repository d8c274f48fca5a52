"""Every view is a PyG transform: what it shows of a Data or Batch is what it shows of the same Graphs."""

import subprocess
import sys
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from nmrgcl.augment import AddEdges, Compose, DropEdges, DropNodes, Identity, MaskFeatures, ShuffleNodes, View
from nmrgcl.data.conversions import from_pyg, to_pyg
from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs
from tests.augment.test_contract import MEMBERS
from tests.examples import random_graphs

geometric = pytest.importorskip("torch_geometric.data")
transforms = pytest.importorskip("torch_geometric.transforms")
Batch, Data, HeteroData = geometric.Batch, geometric.Data, geometric.HeteroData

SIZES = [7, 1, 0, 9, 5]


def items(sizes: list[int] = SIZES, *, integer: bool = False) -> list[Any]:
    """Data with unsorted edges and attributes of every level; ``node_id`` and ``edge_id`` count over all graphs."""
    found = []
    base = random_graphs(sizes, density=0.5)
    generator = torch.Generator().manual_seed(4)
    for g, n in enumerate(sizes):
        one = base.take(torch.tensor([g]))
        edges = one.edge_index[:, torch.randperm(one.num_edges, generator=generator)]
        e = edges.shape[1]
        pair = (edges[0] - edges[1]).abs() + edges.sum(0)  # the same for both directions
        found.append(
            Data(
                x=torch.randint(0, 5, (n, 3), generator=generator) if integer else one.x,
                edge_index=edges,
                edge_attr=torch.stack([pair.float(), edges[0].float()], 1),
                edge_weight=1.0 + pair.float(),
                y=torch.tensor([g]),
                node_id=100 * g + torch.arange(n),
                train_mask=torch.rand(n, generator=generator) < 0.5,
                pos=torch.rand(n, 2, generator=generator),
                edge_id=1 + 1000 * g + torch.arange(e),
                edge_type=torch.randint(1, 4, (e,), generator=generator),
                graph_size=torch.tensor([[n, e]]),
                name=f"graph {g}",
            )
        )
    return found


def seen(view: View, thing: Any, seed: int = 3) -> Any:
    torch.manual_seed(seed)
    return view(thing)


def contents(data: Any) -> dict[str, Any]:
    """Everything in ``data``, what PyG keeps out of sight included, as plain values."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(part) for key, part in value.items()}
        return value.tolist() if isinstance(value, Tensor | np.ndarray) else deepcopy(value)

    return plain({key: value for key, value in data._store.__dict__.items() if key != "_parent"})


@pytest.fixture(params=MEMBERS, ids=lambda v: type(v).__name__)
def view(request: pytest.FixtureRequest) -> View:
    member: View = request.param
    return member


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("integer", [False, True])
@pytest.mark.parametrize("single", [False, True])
def test_the_result_is_that_of_the_same_view_of_graphs(view: View, single: bool, integer: bool, seed: int) -> None:
    data = items([9], integer=integer)[0] if single else Batch.from_data_list(items(integer=integer))
    expected, found = to_pyg(seen(view, from_pyg(data), seed)), seen(view, data, seed)
    assert type(found) is type(data)
    for name in ("edge_index", "edge_attr", "edge_weight", "y"):
        assert torch.equal(found[name], expected[name]), name
    assert torch.equal(found.x.float(), expected.x)
    assert found.x.dtype == data.x.dtype
    if not single:
        assert torch.equal(found.batch, expected.batch)
        assert torch.equal(found.ptr, expected.ptr)


@pytest.mark.parametrize("seed", range(4))
def test_attributes_follow_their_nodes_and_edges(view: View, seed: int) -> None:
    data = Batch.from_data_list(items())
    found = seen(view, data, seed)
    assert set(found.keys()) == set(data.keys())
    node = {int(number): i for i, number in enumerate(data.node_id)}
    kept = torch.tensor([node[int(number)] for number in found.node_id])
    for name in ("train_mask", "pos", "batch"):
        assert torch.equal(found[name], data[name][kept]), name
    ends = dict(zip(data.edge_id.tolist(), data.edge_index.T.tolist(), strict=True))
    kinds = dict(zip(data.edge_id.tolist(), data.edge_type.tolist(), strict=True))
    rows = zip(found.edge_id.tolist(), kept[found.edge_index].T.tolist(), found.edge_type.tolist(), strict=True)
    for number, pair, kind in rows:
        assert kind == kinds.get(number, 0)  # an edge that the view has added has zeros only
        assert pair == ends.get(number, pair)
    assert not found.edge_attr[found.edge_id == 0].any()
    for name in ("y", "graph_size"):
        assert torch.equal(found[name], data[name])
    assert found.name == data.name


def test_a_batch_comes_apart_into_its_graphs(view: View) -> None:
    data = Batch.from_data_list(items())
    found = seen(view, data)
    parts = found.to_data_list()
    assert len(parts) == len(SIZES) == found.num_graphs
    for before, after in zip(items(), parts, strict=True):
        after.validate()
        assert set(after.node_id.tolist()) <= set(before.node_id.tolist())
        assert set(after.edge_id.tolist()) <= {0, *before.edge_id.tolist()}
        assert after.name == before.name
        assert torch.equal(after.graph_size, before.graph_size)
    again = Batch.from_data_list(parts)
    for name in ("x", "edge_index", "edge_attr", "edge_type", "batch", "ptr", "pos", "y"):
        assert torch.equal(again[name], found[name]), name


@pytest.mark.parametrize("single", [False, True])
def test_the_input_is_unchanged(view: View, single: bool) -> None:
    data = items([9])[0] if single else Batch.from_data_list(items())
    before, values = contents(data), data.to_dict()
    for seed in range(5):
        seen(view, data, seed)
    assert contents(data) == before
    assert all(data[key] is value for key, value in values.items())


def test_views_compose_with_pygs_transforms() -> None:
    data = items([9])[0]
    chain = transforms.Compose([transforms.ToUndirected(), DropNodes(0.3), transforms.Constant(), DropEdges(0.3)])
    torch.manual_seed(1)
    found = chain(data)
    torch.manual_seed(1)
    by_hand = DropEdges(0.3)(transforms.Constant()(DropNodes(0.3)(transforms.ToUndirected()(data))))
    assert 0 < found.num_nodes < 9
    assert torch.equal(found.edge_index, by_hand.edge_index)
    assert torch.equal(found.node_id, by_hand.node_id)
    assert found.validate()


def test_views_serve_as_the_transform_of_a_loader() -> None:
    from torch_geometric.loader import DataLoader

    view = DropNodes(0.5)
    for batch in DataLoader([view(item) for item in items()], batch_size=2):
        assert view(batch).validate()


def test_data_without_features_or_edges() -> None:
    bare = Data(num_nodes=6, edge_index=torch.tensor([[0, 1], [1, 0]]))
    found = seen(DropNodes(0.5), bare)
    assert 1 <= found.num_nodes < 6
    assert set(found.keys()) == {"num_nodes", "edge_index"}
    assert Data(num_nodes=6).num_nodes == seen(DropEdges(), Data(num_nodes=6)).num_nodes
    batch = seen(DropNodes(0.5), Batch.from_data_list([bare, bare, bare]))
    assert [part.num_nodes for part in batch.to_data_list()] == batch.ptr.diff().tolist()
    lonely = Data(x=torch.ones(3, 2), edge_index=torch.empty(2, 0, dtype=torch.long), edge_attr=torch.empty(0, 2))
    assert seen(AddEdges(1.0), lonely).edge_attr.shape == (0, 2)


def test_lists_arrays_and_features_of_one_dimension_follow_too() -> None:
    data = items([9])[0]
    data.labels, data.weights = [f"node {i}" for i in range(9)], np.arange(9.0)
    data.edge_names = [f"edge {i}" for i in data.edge_id.tolist()]
    data.x = torch.arange(9)
    found = seen(Compose(DropNodes(0.4), AddEdges(0.5)), data)
    assert found.labels == [f"node {i}" for i in found.node_id.tolist()]
    assert found.weights.tolist() == found.x.tolist() == found.node_id.tolist()
    assert found.edge_names == [f"edge {i}" if i else None for i in found.edge_id.tolist()]
    assert None in found.edge_names


def test_a_graph_with_as_many_nodes_as_edges_is_told_apart_by_names() -> None:
    ring = torch.arange(6)
    data = Data(x=torch.rand(6, 1), edge_index=torch.stack([ring, (ring + 1) % 6]), edge_age=ring, age=ring)
    batch = Batch.from_data_list([data, data])
    for whole in (data, batch):
        found = seen(DropEdges(0.3), whole)
        assert found.age.tolist() == whole.age.tolist()
        assert 0 < len(found.edge_age) == found.num_edges < whole.num_edges
        assert found.edge_age.tolist() == (found.edge_index[0] % 6).tolist()


def test_as_many_graphs_as_nodes_do_not_make_labels_of_nodes() -> None:
    one, three = Data(x=torch.ones(0, 1), y=torch.tensor([7])), Data(x=torch.ones(2, 1), y=torch.tensor([8]))
    for item in (one, three):
        item.edge_index = torch.empty(2, 0, dtype=torch.long)
    found = seen(DropNodes(1.0), Batch.from_data_list([one, three]))
    assert found.num_nodes == 1
    assert found.y.tolist() == [7, 8]


def test_follow_batch_is_followed() -> None:
    data = Batch.from_data_list(items(), follow_batch=["pos", "edge_type"])
    found = seen(Compose(DropNodes(0.4), AddEdges(0.5)), data)
    assert torch.equal(found.pos_batch, found.batch)
    assert torch.equal(found.pos_ptr, found.ptr)
    assert torch.equal(found.edge_type_batch, found.batch[found.edge_index[0]])
    assert torch.equal(found.edge_type_ptr.diff(), torch.bincount(found.edge_type_batch, minlength=len(SIZES)))


def test_numbers_of_nodes_are_refused_once_nodes_are_lost() -> None:
    data = items([9])[0]
    data.edge_label_index = torch.tensor([[0, 1], [2, 8]])
    assert torch.equal(seen(DropEdges(0.5), data).edge_label_index, data.edge_label_index)
    with pytest.raises(DataError, match="edge_label_index contains indices of nodes"):
        seen(DropNodes(0.9), data)


def test_gradients_pass_through_features_and_weights() -> None:
    data = items([9])[0]
    data.x, data.edge_weight = data.x.clone().requires_grad_(), data.edge_weight.clone().requires_grad_()
    found = seen(Compose(ShuffleNodes(), DropEdges(0.3), MaskFeatures(0.3)), data)
    (found.x.sum() + found.edge_weight.sum()).backward()
    assert data.edge_weight.grad.sum() == found.num_edges < data.num_edges
    assert data.x.grad.sum() == (found.x != 0).sum()


class MarkBonds(View):
    """A view from elsewhere that reads and changes attributes of edges."""

    def forward(self, graphs: Graphs, chosen: Tensor | None = None) -> Graphs:
        from dataclasses import replace

        assert graphs.edge_attr is not None
        marked = graphs.edge_attr.clone()
        marked[:, 0] += 10 * marked[:, 1]
        return replace(graphs, edge_attr=marked)


def test_a_view_from_elsewhere_may_change_attributes_of_edges() -> None:
    data = items([9])[0]
    found = seen(Compose(DropEdges(0.3), MarkBonds()), data)
    before = data.edge_attr[found.edge_id - 1]
    assert torch.equal(found.edge_attr, torch.stack([before[:, 0] + 10 * before[:, 1], before[:, 1]], 1))
    assert found.edge_attr.dtype == torch.float32


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        (HeteroData(), "not HeteroData"),
        ([1, 2], "not list"),
        (None, "not NoneType"),
        (Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [5]])), "outside"),
        (Data(edge_index=torch.tensor([[0], [1]])), "num_nodes"),
        (Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]]), edge_attr=torch.ones(3, 1)), "3 rows"),
        (Data(x=torch.ones(2, 1), adj_t=torch.eye(2)), "adj_t"),
        (Data(x=torch.tensor([[2**24 + 1]]), edge_index=torch.empty(2, 0, dtype=torch.long)), "round"),
    ],
)
def test_what_is_not_a_graph_is_refused_in_one_line(thing: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        Identity()(thing)


def test_pyg_is_imported_by_nobody_who_does_not_use_it() -> None:
    code = """
import sys, torch
from nmrgcl.augment import DropNodes
from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs
DropNodes()(Graphs.build(torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 2])))
try:
    DropNodes()([1])
except DataError:
    sys.exit("torch_geometric" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
