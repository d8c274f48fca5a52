"""Edge weights learn: gradients against finite differences and PyG, and none where a view removed the edge."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from nmrgcl.augment import AddEdges, Compose, DropEdges, DropNodes, Identity, Subgraph, View
from nmrgcl.augment.diffusion import diffuse
from nmrgcl.encode import ENCODERS, GAT, GCN, GIN, build_encoder, embed_graphs
from nmrgcl.encode.gcn import normalised_sum
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs, Room
from nmrgcl.ops.neighbour_sum import edge_counts, neighbour_sum
from tests.examples import one_graph, random_graphs

VIEWS: dict[str, View] = {
    "whole": Identity(),
    "masked": Compose(DropNodes(0.3), DropEdges(0.3)),
    "added": Compose(AddEdges(0.5), DropNodes(0.2)),
}


def weighted(*, directed: bool = False, learn: bool = True) -> Graphs:
    base = random_graphs([6, 1, 0, 5], density=0.6)
    torch.manual_seed(2)
    edges = base.edge_index[:, torch.rand(base.num_edges) < 0.7] if directed else base.edge_index
    count = edges.shape[1]
    attr = torch.stack([torch.randint(-1, 4, (count,)), torch.randint(4, 7, (count,))], 1)
    weight = (torch.rand(count, dtype=torch.float64) + 0.2).requires_grad_(learn)
    return Graphs.build(edges, base.node_ptr, x=base.x.double(), edge_attr=attr, edge_weight=weight)


def seen(view: View, graphs: Graphs) -> Graphs:
    torch.manual_seed(5)
    return view(graphs)


def weight_gradient(graphs: Graphs, out: Tensor) -> Tensor:
    assert graphs.edge_weight is not None
    (grad,) = torch.autograd.grad((out * torch.arange(out.numel()).reshape(out.shape).sin()).sum(), graphs.edge_weight)
    return grad


def sums(name: str) -> Callable[[Tensor, Tensor, Graphs], Tensor]:
    ways: dict[str, Callable[[Tensor, Tensor, Graphs], Tensor]] = {
        "plain": lambda h, _, g: neighbour_sum(h, g, self_weight=1.5),
        "with a table": lambda h, table, g: neighbour_sum(h, g, edge_table=table),
        "with counts": lambda h, table, g: neighbour_sum(
            h, g, self_weight=1.0, edge_table=table, edge_counts=edge_counts(g, 8, looped=True), looped=True
        ),
        "normalised": lambda h, _, g: normalised_sum(h, g),
        "normalised without the loop": lambda h, _, g: normalised_sum(h, g, count_self=False),
    }
    return ways[name]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("way", ["plain", "with a table", "with counts", "normalised", "normalised without the loop"])
def test_the_gradient_of_every_sum_equals_finite_differences(way: str, view: str, directed: bool) -> None:
    base = weighted(directed=directed)
    assert base.edge_weight is not None
    h = torch.randn(base.num_nodes, 3, dtype=torch.float64, requires_grad=True)
    table = torch.randn(8, 3, dtype=torch.float64, requires_grad="table" in way or "counts" in way)

    def total(h: Tensor, table: Tensor, weight: Tensor) -> Tensor:
        return sums(way)(h, table, seen(VIEWS[view], replace(base, edge_weight=weight)))

    assert torch.autograd.gradcheck(total, (h, table, base.edge_weight))


def test_by_hand_on_a_path_of_three_nodes() -> None:
    """Σ over v of w(u → v) h(u) · g(v): the derivative by w(u → v) is h(u) · g(v)."""
    graphs = one_graph(3, (0, 1), (1, 2))
    weight = torch.ones(4, requires_grad=True)
    h, grad = torch.tensor([[1.0], [2.0], [3.0]]), torch.tensor([[5.0], [7.0], [11.0]])
    neighbour_sum(h, replace(graphs, edge_weight=weight)).backward(grad)
    assert weight.grad is not None
    assert graphs.edge_index.T.tolist() == [[1, 0], [0, 1], [2, 1], [1, 2]]
    assert weight.grad.tolist() == [2 * 5, 1 * 7, 3 * 7, 2 * 11]


@pytest.mark.parametrize("name", [name for name in ENCODERS if name != "gat"])
def test_an_edge_that_a_view_removed_has_no_gradient_and_the_others_that_of_the_compacted_graph(name: str) -> None:
    base = random_graphs([7, 1, 0, 9], density=0.5, categorical=True)
    attr = torch.ones(base.num_edges, 2, dtype=torch.long)
    weight = (torch.rand(base.num_edges, dtype=torch.float64) + 0.2).requires_grad_()
    graphs = replace(base, edge_attr=attr, edge_weight=weight)
    torch.manual_seed(0)
    encoder = build_encoder(name, 4, layers=2, units=16).double().train()
    view = seen(Compose(DropNodes(0.3), DropEdges(0.4)), graphs)
    assert view.node_keep is not None
    masked = weight_gradient(graphs, encoder(view)[view.node_keep])
    compacted = weight_gradient(graphs, encoder(view.compact()))
    torch.testing.assert_close(masked, compacted, atol=1e-12, rtol=1e-10)
    assert bool((masked[~view.live_edges] == 0).all())
    assert bool((masked[view.live_edges] != 0).any())


def test_a_dead_edge_has_no_gradient_even_where_its_source_is_not_a_number() -> None:
    graphs = replace(one_graph(3, (0, 1), (1, 2)), edge_weight=torch.ones(4, requires_grad=True))
    h = torch.tensor([[1.0], [2.0], [torch.nan]])
    out = neighbour_sum(h, graphs.keep_nodes(torch.tensor([True, True, False])))
    assert weight_gradient(graphs, out[:2])[2:].tolist() == [0, 0]


@pytest.mark.parametrize("directed", [False, True])
def test_gin_sums_and_gcn_have_pygs_gradients(directed: bool) -> None:
    from torch_geometric.nn import GCNConv, SimpleConv

    graphs = weighted(directed=directed)
    theirs = SimpleConv(aggr="sum")(graphs.x, graphs.edge_index, graphs.edge_weight)
    ours = neighbour_sum(graphs.x, graphs)
    torch.testing.assert_close(weight_gradient(graphs, ours), weight_gradient(graphs, theirs), atol=1e-12, rtol=1e-12)
    torch.manual_seed(0)
    network, conv = GCN(4, layers=1, units=6).double(), GCNConv(4, 6).double()
    with torch.no_grad():
        conv.lin.weight.copy_(network.layers[0].linear.weight.T)  # type: ignore[union-attr]
    theirs = conv(graphs.x, graphs.edge_index, graphs.edge_weight).relu()
    ours = network(graphs)
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(weight_gradient(graphs, ours), weight_gradient(graphs, theirs), atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("readout", ["sum", "mean", "max"])
def test_embeddings_of_graphs_learn_on_every_readout_and_equal_those_of_fixed_weights(readout: str) -> None:
    """GIN's sums on a CPU have a form of their own for training, which must step aside."""
    fixed, learned = weighted(learn=False), weighted()
    encoder = GIN(4, layers=2, units=8).double().train()
    z = embed_graphs(encoder, learned, readout)
    torch.testing.assert_close(z, embed_graphs(encoder, fixed, readout))
    assert bool((weight_gradient(learned, z) != 0).any())


def test_weights_change_in_place_between_steps() -> None:
    """An optimiser changes a leaf in place: no matrix of an earlier step may be remembered."""
    graphs = weighted()
    before = normalised_sum(graphs.x, graphs)
    weight_gradient(graphs, before)
    with torch.no_grad():
        graphs.edge_weight.mul_(2)  # type: ignore[union-attr]
    after = normalised_sum(graphs.x, graphs)
    assert graphs.edge_weight is not None
    fresh = replace(graphs, edge_weight=graphs.edge_weight.detach().clone())
    torch.testing.assert_close(after, normalised_sum(graphs.x, fresh))
    assert not torch.allclose(before, after)
    weight_gradient(graphs, after)


def test_a_weight_learns_through_batches_views_and_padding() -> None:
    graphs = weighted()
    index = torch.tensor([3, 0])
    plain = weight_gradient(graphs, neighbour_sum(graphs.take(index).x, graphs.take(index)))
    padded = graphs.take_padded(index, Room(20, 64))
    out = neighbour_sum(padded.x, padded)[: graphs.take(index).num_nodes]
    torch.testing.assert_close(weight_gradient(graphs, out), plain)
    walked = seen(Subgraph(), graphs)  # which walks by the weights, but has no gradient by them
    assert weight_gradient(graphs, neighbour_sum(walked.x, walked)).isfinite().all()


def test_learned_weights_find_the_edges_that_matter() -> None:
    """Two edges into one node, of which the target is the first one's source: a few steps tell them apart."""
    graphs = Graphs.build(torch.tensor([[0, 1], [2, 2]]), torch.tensor([0, 3]), x=torch.eye(3))
    logit = nn.Parameter(torch.zeros(2))
    optimiser = torch.optim.Adam([logit], lr=0.2)
    for _ in range(100):
        out = neighbour_sum(graphs.x, replace(graphs, edge_weight=logit.sigmoid()))[2]
        loss = (out - torch.tensor([1.0, 0.0, 0.0])).square().sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert logit.sigmoid().tolist() == pytest.approx([1, 0], abs=0.05)


def test_what_has_no_gradient_by_weights_says_so_in_one_line() -> None:
    graphs = weighted()
    with pytest.raises(SettingError, match="gat does not use edge weights"):
        GAT(4, units=16).double()(graphs)
    with pytest.raises(SettingError, match="no gradient by edge weights"):
        diffuse(graphs)
    GAT(4, units=16).double()(weighted(learn=False))


@pytest.mark.parametrize("sum_of", [neighbour_sum, normalised_sum])
def test_a_second_derivative_is_refused_and_not_zero(sum_of: Callable[[Tensor, Graphs], Tensor]) -> None:
    graphs = weighted()
    h = graphs.x.clone().requires_grad_()
    with pytest.raises(SettingError, match="first derivatives only"):
        torch.autograd.grad(sum_of(h, graphs).square().sum(), h, create_graph=True)


def test_nothing_more_is_kept_where_no_weight_learns() -> None:
    kept: list[int] = []

    def pack(tensor: Tensor) -> Tensor:
        kept.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        for graphs in (weighted(learn=False), weighted()):
            kept.clear()
            h = torch.randn(graphs.num_nodes, 50, dtype=torch.float64, requires_grad=True)
            neighbour_sum(h, graphs)
            assert (h.numel() in kept) == graphs.weights_learn
