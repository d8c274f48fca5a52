"""GCN and GAT equal PyG's layers, values and gradients, on undirected, directed and weighted graphs."""

import copy
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from nmrgcl.augment import AddEdges
from nmrgcl.encode import GAT, GCN, build_encoder
from nmrgcl.encode.gat import HEADS
from nmrgcl.encode.gcn import normalised_sum
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.ops.neighbour_sum import in_degrees
from tests.examples import cycle, random_graphs


def graphs_of(kind: str) -> Graphs:
    base = random_graphs([8, 1, 6], density=0.4)
    torch.manual_seed(1)
    edges = base.edge_index if kind == "undirected" else base.edge_index[:, torch.rand(base.num_edges) < 0.6]
    weight = torch.rand(edges.shape[1], dtype=torch.float64) + 0.1 if kind == "weighted" else None
    return Graphs.build(edges, base.node_ptr, x=base.x.double(), edge_weight=weight)


def check(ours: nn.Module, z: Tensor, theirs: Tensor, parameters: dict[str, Tensor]) -> None:
    """Equal values, and equal gradients of the parameters under their names in ``ours``."""
    torch.testing.assert_close(z, theirs, atol=1e-12, rtol=1e-12)
    weight = torch.arange(z.numel(), dtype=z.dtype).reshape(z.shape).sin()
    (z * weight).sum().backward()
    (theirs * weight).sum().backward()
    named = dict(ours.named_parameters())
    for name, parameter in parameters.items():
        assert parameter.grad is not None
        found = named[name].grad
        assert found is not None
        torch.testing.assert_close(found.reshape(parameter.shape), parameter.grad, atol=1e-11, rtol=1e-11)


@pytest.mark.parametrize("kind", ["undirected", "directed", "weighted"])
def test_gcn_equals_pyg(kind: str) -> None:
    from torch_geometric.nn import GCNConv

    graphs = graphs_of(kind)
    ours = GCN(4, layers=2, units=6, activation="prelu").double()
    convs = [GCNConv(4, 6).double(), GCNConv(6, 6).double()]
    with torch.no_grad():
        for conv, layer in zip(convs, ours.layers, strict=True):
            weight = layer.linear.weight  # type: ignore[union-attr]
            conv.lin.weight.copy_(weight.T if layer is ours.layers[0] else weight)
            conv.bias.copy_(layer.bias.normal_())  # type: ignore[operator]
    h = graphs.x
    for conv in convs:
        h = torch.nn.functional.prelu(conv(h, graphs.edge_index, graphs.edge_weight), torch.tensor([0.25]).double())
    names = {"layers.1.linear.weight": convs[1].lin.weight, "layers.0.bias": convs[0].bias}
    check(ours, ours(graphs), h, names)


@pytest.mark.parametrize("kind", ["undirected", "directed", "weighted"])
@pytest.mark.parametrize("masked", [False, True])
def test_degrees_equal_the_sums_of_the_adjacency_matrix(masked: bool, kind: str) -> None:
    graphs = graphs_of(kind)
    if masked:
        graphs = AddEdges(0.5)(graphs) if kind == "undirected" else graphs
        graphs = graphs.keep_nodes(torch.arange(graphs.num_nodes) % 5 > 0)
    whole = graphs.merge_added()
    weight = whole.live_edges.double() * (1.0 if whole.edge_weight is None else whole.edge_weight)
    matrix = torch.zeros(graphs.num_nodes, graphs.num_nodes, dtype=torch.float64)
    matrix.index_put_((whole.edge_index[1], whole.edge_index[0]), weight, accumulate=True)
    torch.testing.assert_close(in_degrees(graphs, torch.float64), matrix.sum(1))


@pytest.mark.parametrize("kind", ["undirected", "directed"])
def test_gat_equals_pyg(kind: str) -> None:
    from torch_geometric.nn import GATConv

    graphs = graphs_of(kind)
    ours = GAT(4, layers=2, units=2 * HEADS, activation="elu", activate_last=False).double()
    convs = [GATConv(4, 2, heads=HEADS).double(), GATConv(2 * HEADS, 2, heads=HEADS).double()]
    with torch.no_grad():
        for conv, layer in zip(convs, ours.layers, strict=True):
            weight = layer.linear.weight  # type: ignore[union-attr]
            conv.lin.weight.copy_(weight.T if layer is ours.layers[0] else weight)
            conv.att_src.copy_(layer.source[None])  # type: ignore[index]
            conv.att_dst.copy_(layer.destination[None])  # type: ignore[index]
            conv.bias.copy_(layer.bias.normal_())  # type: ignore[operator]
    h = convs[1](torch.nn.functional.elu(convs[0](graphs.x, graphs.edge_index)), graphs.edge_index)
    names = {"layers.1.linear.weight": convs[1].lin.weight, "layers.0.source": convs[0].att_src}
    names |= {"layers.0.destination": convs[0].att_dst, "layers.0.bias": convs[0].bias}
    check(ours, ours(graphs), h, names)


def test_the_normalised_matrix_is_worked_out_once_a_view() -> None:
    from nmrgcl.encode.gcn import _NORMALISED

    graphs = cycle(4)
    before = len(_NORMALISED)
    normalised_sum(graphs.x, graphs)
    first = _NORMALISED[graphs][True, torch.float32]
    normalised_sum(graphs.x, graphs)
    assert _NORMALISED[graphs][True, torch.float32] is first
    # A cycle has degree 2: with the loop every entry of the matrix is a third.
    assert first[0].tolist() == pytest.approx([1 / 3] * 8)
    del graphs
    assert len(_NORMALISED) == before


def test_each_view_of_a_joint_batch_has_its_own_batch_norm_statistics() -> None:
    """A joint batch is what a GPU gets for two views; on a CPU each view is a batch of its own."""
    base = random_graphs([8, 5, 6], density=0.4)
    base = replace(base, x=base.x.double())
    keep = torch.rand(2 * base.num_nodes, generator=torch.Generator().manual_seed(0)) < 0.7
    views = [base.keep_nodes(half).compact() for half in keep.chunk(2)]
    encoder = build_encoder("gcn", 4, layers=2, units=6, norm="batch").double().train()
    apart = copy.deepcopy(encoder)
    joint = encoder(base.twice().keep_nodes(keep))[keep]
    torch.testing.assert_close(joint, torch.cat([apart(view) for view in views]), rtol=0, atol=1e-12)
    for ours, theirs in zip(encoder.buffers(), apart.buffers(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


def test_dropout_acts_in_training_alone() -> None:
    graphs = random_graphs([9])
    for encoder in (GCN(4, units=16, dropout=0.5), GAT(4, units=16, dropout=0.5)):
        assert not torch.equal(encoder.train()(graphs), encoder(graphs))
        assert torch.equal(encoder.eval()(graphs), encoder(graphs))


def test_units_that_heads_cannot_share_are_refused() -> None:
    with pytest.raises(SettingError, match="multiple of 8"):
        GAT(4, units=12)
