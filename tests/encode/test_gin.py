"""GIN, batch norm and pooling: equal to PyG, to the compacted graph, and to the definition."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from nmrgcl.augment import AddEdges, Compose, DropEdges, DropNodes
from nmrgcl.encode import GIN, build_encoder, pool
from nmrgcl.encode.gcn import normalised_sum
from nmrgcl.encode.norm import MaskedBatchNorm
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.ops.neighbour_sum import neighbour_sum
from tests.examples import cycle, one_graph, random_graphs, undirected

SIZES = [6, 1, 9, 4]


def as_float64(graphs: Graphs) -> Graphs:
    from dataclasses import replace

    return replace(graphs, x=graphs.dense_x().double())


def test_neighbour_sum_by_hand() -> None:
    path = one_graph(3, (0, 1), (1, 2))
    assert neighbour_sum(path.x, path).tolist() == [[2, 4], [4, 10], [2, 4]]
    assert neighbour_sum(path.x, path, self_weight=1.0).tolist() == [[3, 5], [6, 14], [5, 13]]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_neighbour_sum_and_its_gradient_equal_the_matrix_product(weighted: bool, directed: bool, masked: bool) -> None:
    torch.manual_seed(0)
    base = random_graphs([5, 4], density=0.6)
    edges = base.edge_index[:, ::2] if directed else base.edge_index
    weight = torch.rand(edges.shape[1], dtype=torch.float64) if weighted else None
    graphs = Graphs.build(edges, base.node_ptr, edge_weight=weight)
    if masked:
        graphs = graphs.keep_nodes(torch.arange(9) != 2).keep_edges(
            (torch.arange(graphs.num_edges) % 3 > 0)[graphs.pair]
        )
    live = graphs.live_edges.double() * (1 if graphs.edge_weight is None else graphs.edge_weight)
    matrix = torch.zeros(9, 9, dtype=torch.float64)
    matrix.index_put_((graphs.edge_index[1], graphs.edge_index[0]), live, accumulate=True)
    h = torch.randn(9, 3, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(neighbour_sum(h, graphs), matrix @ h)
    assert torch.autograd.gradcheck(lambda t: neighbour_sum(t, graphs, self_weight=1.5), (h,))


def test_added_edges_carry_messages() -> None:
    torch.manual_seed(0)
    view = Compose(DropNodes(0.3), AddEdges(0.5), DropEdges(0.2))(random_graphs(SIZES, density=0.4))
    h = view.x.double()
    kept = torch.ones(view.num_nodes, dtype=torch.bool) if view.node_keep is None else view.node_keep
    torch.testing.assert_close(neighbour_sum(h, view)[kept], neighbour_sum(h[kept], view.compact()))


@pytest.mark.parametrize("dropped", [3, 4])
def test_the_five_node_example_of_the_paper(dropped: int) -> None:
    """A cycle without node 4 (or 5), no activation, mean over what is left: (2 + √2)/8 · Σ kept x W."""
    torch.manual_seed(0)
    x, w = torch.randn(5, 3, dtype=torch.float64), torch.randn(3, 2, dtype=torch.float64)
    keep = torch.arange(5) != dropped
    for view in (cycle(5).keep_nodes(keep), cycle(5).keep_nodes(keep).compact()):
        rows = x if view.masked else x[keep]
        z = pool(normalised_sum(rows @ w, view, count_self=False), view, "mean")
        torch.testing.assert_close(z[0], (2 + 2**0.5) / 8 * x[keep].sum(0) @ w, atol=1e-12, rtol=0)


def test_normalised_sum_equals_pygs_gcn() -> None:
    from torch_geometric.nn import GCNConv

    graphs = random_graphs(SIZES, density=0.4)
    conv = GCNConv(4, 6, bias=False)
    expected = conv(graphs.x, graphs.edge_index)
    torch.testing.assert_close(normalised_sum(conv.lin(graphs.x), graphs), expected, atol=1e-6, rtol=1e-5)


class PyGGIN(nn.Module):
    """The same network from PyG's parts, with the weights of ours."""

    def __init__(self, ours: GIN) -> None:
        from torch_geometric.nn import GINConv

        super().__init__()
        self.convs, self.norms = nn.ModuleList(), nn.ModuleList()
        for number, layer in enumerate(ours.layers):
            state = {name: value.clone() for name, value in layer.state_dict().items()}
            weight = state["first.weight"] if number else state["first.weight"].T
            units, width = weight.shape
            mlp = nn.Sequential(nn.Linear(width, units), nn.ReLU(), nn.Linear(units, units))
            self.convs.append(GINConv(mlp).to(weight.dtype))  # which initialises them anew
            mlp[0].load_state_dict({"weight": weight, "bias": state["bias"]})
            mlp[2].load_state_dict({"weight": state["second.weight"], "bias": state["second.bias"]})
            self.norms.append(nn.BatchNorm1d(units).to(weight.dtype))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        outputs = []
        for conv, norm in zip(self.convs, self.norms, strict=True):
            x = norm(conv(x, edge_index).relu())
            outputs.append(x)
        return torch.cat(outputs, 1)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("categorical", [True, False])
def test_gin_equals_pyg(dtype: torch.dtype, tolerance: float, training: bool, categorical: bool) -> None:
    torch.manual_seed(0)
    graphs = random_graphs(SIZES, density=0.5, categorical=categorical)
    ours = GIN(4, layers=3, units=8).to(dtype).train(training)
    theirs = PyGGIN(ours).train(training)
    a, b = ours(graphs), theirs(graphs.dense_x().to(dtype), graphs.edge_index)
    torch.testing.assert_close(a, b, atol=tolerance, rtol=tolerance)
    weight = torch.randn_like(a)
    (a * weight).sum().backward()
    (b * weight).sum().backward()
    grads = dict(ours.named_parameters())["layers.1.second.weight"].grad
    torch.testing.assert_close(
        grads,
        dict(theirs.named_parameters())["convs.1.nn.2.weight"].grad,
        atol=100 * tolerance,
        rtol=10 * tolerance,
    )


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
@pytest.mark.parametrize("how", ["sum", "mean", "max"])
def test_a_masked_graph_gives_what_the_compacted_graph_gives(dtype: torch.dtype, tolerance: float, how: str) -> None:
    torch.manual_seed(0)
    graphs = random_graphs([6, 1, 9, 4, 0], density=0.5)
    view = Compose(AddEdges(0.4), DropNodes(0.4), DropEdges(0.3))(graphs)
    encoder = GIN(4, layers=2, units=8).to(dtype).train()
    results, grads, statistics = [], [], []
    for seen in (view, view.compact()):
        encoder.zero_grad()
        for name, buffer in encoder.named_buffers():
            buffer.fill_(float("var" in name))
        z = pool(encoder(seen), seen, how)
        (z * torch.arange(z.numel(), dtype=dtype).reshape(z.shape).sin()).sum().backward()
        results.append(z)
        grads.append([p.grad.clone() for p in encoder.parameters() if p.grad is not None])
        statistics.append([b.clone() for b in encoder.buffers()])
    torch.testing.assert_close(*results, atol=tolerance, rtol=tolerance)
    torch.testing.assert_close(*statistics, atol=tolerance, rtol=tolerance)
    torch.testing.assert_close(*grads, atol=100 * tolerance, rtol=100 * tolerance)


def test_the_last_layer_alone_is_the_end_of_all_of_them() -> None:
    graphs, whole, last = random_graphs([5, 3]), GIN(4, layers=3, units=8), GIN(4, layers=3, units=8, last=True)
    last.load_state_dict(whole.state_dict())
    assert torch.equal(last(graphs), whole(graphs)[:, -8:])


def test_dropout_of_a_layers_input_acts_in_training_alone() -> None:
    graphs, plain, dropping = random_graphs([5, 3]), GIN(4, layers=2, units=8), GIN(4, layers=2, units=8, dropout=0.5)
    dropping.load_state_dict(plain.state_dict())
    assert torch.equal(dropping.eval()(graphs), plain.eval()(graphs))
    assert not torch.equal(dropping.train()(graphs), dropping(graphs))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"name": "gin", "norm": "batch"}, "encoder gin normalises in its own way; leave encoder.norm out, or use"),
        ({"name": "gcn", "jk": "cat"}, "encoder gcn embeds a node by its last layer; leave encoder.jk out, or use"),
        ({"name": "gin", "activation": "prelu"}, "encoder gin has activations of its own; leave encoder.activation"),
        ({"name": "molecule", "activation": "elu"}, "encoder molecule has activations of its own; leave encoder.act"),
    ],
)
def test_what_an_encoder_does_not_have_is_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingError, match=told):
        build_encoder(num_features=4, layers=2, units=8, **options)


def test_masked_batch_norm_is_batch_norm_of_the_kept_rows() -> None:
    torch.manual_seed(0)
    h, keep = torch.randn(20, 5, dtype=torch.float64), torch.arange(20) % 4 > 0
    ours, theirs = MaskedBatchNorm(5).double(), nn.BatchNorm1d(5).double()
    torch.testing.assert_close(ours(h, keep)[keep], theirs(h[keep]), atol=1e-12, rtol=0)
    torch.testing.assert_close(ours.running_mean, theirs.running_mean)
    torch.testing.assert_close(ours.running_var, theirs.running_var)


def test_pooling_by_hand() -> None:
    graphs = Graphs.build(undirected(), torch.tensor([0, 2, 2, 3]), x=torch.tensor([[1.0], [3.0], [-5.0]]))
    assert pool(graphs.x, graphs, "sum").tolist() == [[4], [0], [-5]]
    assert pool(graphs.x, graphs, "mean").tolist() == [[2], [0], [-5]]
    assert pool(graphs.x, graphs, "max").tolist() == [[3], [0], [-5]]
    left = graphs.keep_nodes(torch.tensor([True, False, True]))
    assert pool(graphs.x, left, "mean").tolist() == [[1], [0], [-5]]


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.integers(1, 7), min_size=2, max_size=5), st.integers(0, 10**6))
def test_embeddings_depend_neither_on_node_order_nor_on_the_rest_of_the_batch(sizes: list[int], seed: int) -> None:
    graphs = as_float64(random_graphs(sizes, density=0.5, seed=seed))
    torch.manual_seed(seed)
    encoder = GIN(4, layers=2, units=6).double().eval()
    z = pool(encoder(graphs), graphs, "sum")
    order = torch.randperm(len(sizes))
    batch = graphs.take(order)
    torch.testing.assert_close(pool(encoder(batch), batch, "sum"), z[order], atol=1e-9, rtol=1e-9)
    alone = graphs.take(torch.tensor([0]))
    torch.testing.assert_close(pool(encoder(alone), alone, "sum"), z[:1], atol=1e-9, rtol=1e-9)
    within = torch.cat([torch.randperm(n) + start for n, start in zip(sizes, graphs.node_ptr[:-1], strict=True)])
    renamed = Graphs.build(torch.argsort(within)[graphs.edge_index], graphs.node_ptr, x=graphs.x[within])
    torch.testing.assert_close(pool(encoder(renamed), renamed, "sum"), z, atol=1e-9, rtol=1e-9)
