"""GIN with edge features: worked by hand, equal to its definition and to PyG, and absent where edges have none."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from nmrgcl.augment import AddEdges, Compose, DropEdges, DropNodes, View
from nmrgcl.encode import GIN, MoleculeGIN, build_encoder, embed_graphs, pool
from nmrgcl.encode.edge_names import EdgeShape
from nmrgcl.encode.gin import GINELayer
from nmrgcl.encode.messages import message_sum
from nmrgcl.errors import DataError, SettingError
from nmrgcl.graphs import Graphs
from tests.examples import one_graph, random_graphs, with_edge_attributes, with_edge_labels

SIZES = [6, 1, 9, 4, 0]
LABELS = (3, 2)
VIEW = Compose(AddEdges(0.4), DropNodes(0.3), DropEdges(0.3))


def path() -> Graphs:
    """Rows (1, 1), (2, 4), (3, 9); the first edge has label 1, the second label 2."""
    return replace(one_graph(3, (0, 1), (1, 2)), edge_attr=torch.tensor([[1], [1], [2], [2]]))


def test_messages_along_a_path_by_hand() -> None:
    graphs, table = path(), torch.tensor([[10.0, -10], [-2, 0]])
    assert graphs.edge_index.T.tolist() == [[1, 0], [0, 1], [2, 1], [1, 2]]
    e = table[graphs.edge_attr[:, 0] - 1]  # type: ignore[index]
    # ReLU((2, 4) + (10, −10)); ReLU((1, 1) + (10, −10)) + ReLU((3, 9) + (−2, 0)); ReLU((2, 4) + (−2, 0))
    assert message_sum(graphs.x, e, graphs).tolist() == [[12, 0], [11 + 1, 0 + 9], [0, 4]]


def test_a_layer_on_three_nodes_by_hand() -> None:
    encoder = GIN(2, layers=1, units=2, edges=(2,)).eval()
    state = {
        "layers.0.first.weight": [[1.0, 0], [0, 1]],
        "layers.0.edges.weight": [[10.0, -10], [-2, 0]],
        "layers.0.bias": [-5.0, 0],
        "layers.0.second.weight": [[1.0, -1], [0, 1]],
        "layers.0.second.bias": [0.0, -1],
    }
    encoder.load_state_dict({name: torch.tensor(value) for name, value in state.items()}, strict=False)
    # Sums (13, 1), (14, 13), (3, 13); with the bias and ReLU (8, 1), (9, 13), (0, 13).
    # Then (8 − 1, 1 − 1), (9 − 13, 13 − 1), (0 − 13, 13 − 1), and ReLU; the norm has mean 0 and variance 1.
    torch.testing.assert_close(encoder(path()), torch.tensor([[7.0, 0], [0, 12], [0, 12]]), atol=1e-3, rtol=1e-4)


def seen(view: View | None, *, directed: bool, weighted: bool) -> Graphs:
    torch.manual_seed(0)
    graphs = random_graphs([8, 1, 6], density=0.6)
    if directed:
        graphs = Graphs.build(graphs.edge_index[:, ::2], graphs.node_ptr)
    if weighted:
        weight = torch.rand(graphs.num_edges, dtype=torch.float64) + 0.5
        graphs = replace(graphs, edge_weight=weight[graphs.pair].requires_grad_())
    return (graphs if view is None else view(graphs)).merge_added()


@pytest.mark.parametrize("view", [None, DropNodes(0.4), VIEW], ids=["whole", "nodes", "all"])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_messages_are_their_definition_edge_by_edge_and_so_are_gradients(
    view: View | None, directed: bool, weighted: bool
) -> None:
    graphs = seen(view, directed=directed, weighted=weighted)
    h = torch.randn(graphs.num_nodes, 3, dtype=torch.float64, requires_grad=True)
    e = torch.randn(graphs.num_edges, 3, dtype=torch.float64, requires_grad=True)
    expected = torch.zeros_like(h)
    for i, (u, v) in enumerate(graphs.edge_index.T.tolist()):
        if graphs.live_edges[i]:
            share = 1 if graphs.edge_weight is None else graphs.edge_weight[i]
            expected = expected.index_add(0, torch.tensor([v]), share * torch.relu(h[u] + e[i])[None])
    found = message_sum(h, e, graphs)
    torch.testing.assert_close(found, expected)
    inputs = [h, e, *([graphs.edge_weight] if graphs.edge_weight is not None else [])]
    grads = [torch.autograd.grad((out * out.detach().sin()).sum(), inputs) for out in (found, expected)]
    torch.testing.assert_close(*grads)


class PyGGINE(nn.Module):
    """The same network from PyG's parts, with the weights of ours; its labels are one-hot attributes."""

    def __init__(self, ours: GIN) -> None:
        from torch_geometric.nn import GINEConv

        super().__init__()
        self.convs, self.norms = nn.ModuleList(), nn.ModuleList()
        for number, layer in enumerate(ours.layers):
            state = {name: value.clone() for name, value in layer.state_dict().items()}
            units, rows = state["bias"].shape[0], state["edges.weight"].shape[0]
            mlp = nn.Sequential(nn.Linear(units, units), nn.ReLU(), nn.Linear(units, units))
            conv = GINEConv(mlp, edge_dim=rows)  # which initialises them anew
            # In our first layer the first map comes before the messages: here it is apart, and an identity follows.
            first = state["first.weight"] if number else torch.eye(units)
            mlp[0].load_state_dict({"weight": first, "bias": state["bias"]})
            mlp[2].load_state_dict({"weight": state["second.weight"], "bias": state["second.bias"]})
            conv.lin.load_state_dict({"weight": state["edges.weight"].T, "bias": torch.zeros(units)})
            self.convs.append(conv)
            self.norms.append(nn.BatchNorm1d(units))
        self.start = nn.Parameter(ours.layers[0].first.weight.detach().clone())  # type: ignore[union-attr,operator]

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        x, outputs = x @ self.start, []
        for conv, norm in zip(self.convs, self.norms, strict=True):
            x = norm(conv(x, edge_index, edge_attr).relu())
            outputs.append(x)
        return torch.cat(outputs, 1)


def one_hot(graphs: Graphs, shape: EdgeShape) -> Tensor:
    assert graphs.edge_attr is not None
    if isinstance(shape, int):
        return graphs.edge_attr
    columns = [nn.functional.one_hot(graphs.edge_attr[:, c], size + 1)[:, 1:] for c, size in enumerate(shape)]
    return torch.cat(columns, 1).float()


@pytest.mark.parametrize("shape", [LABELS, (3,), 4], ids=["labels", "one label", "attributes"])
@pytest.mark.parametrize("training", [True, False])
def test_gin_with_edge_features_equals_pygs_gine(shape: EdgeShape, training: bool) -> None:
    torch.manual_seed(0)
    graphs = with_edges(random_graphs(SIZES, density=0.5, categorical=True), shape)
    ours = GIN(4, layers=3, units=8, edges=shape)
    theirs = PyGGINE(ours).double().train(training)
    ours = ours.double().train(training)
    a, b = ours(graphs), theirs(graphs.dense_x().double(), graphs.edge_index, one_hot(graphs, shape).double())
    torch.testing.assert_close(a, b, atol=1e-10, rtol=1e-10)
    weight = torch.randn_like(a)
    (a * weight).sum().backward()
    (b * weight).sum().backward()
    own, other = dict(ours.named_parameters()), dict(theirs.named_parameters())
    for one, two in (
        ("layers.0.first.weight", "start"),
        ("layers.1.first.weight", "convs.1.nn.0.weight"),
        ("layers.2.second.weight", "convs.2.nn.2.weight"),
    ):
        torch.testing.assert_close(own[one].grad, other[two].grad, atol=1e-8, rtol=1e-8)
    for number in range(3):
        expected = other[f"convs.{number}.lin.weight"].grad
        assert expected is not None
        torch.testing.assert_close(own[f"layers.{number}.edges.weight"].grad, expected.T, atol=1e-8, rtol=1e-8)


def with_edges(graphs: Graphs, shape: EdgeShape) -> Graphs:
    return with_edge_attributes(graphs, shape) if isinstance(shape, int) else with_edge_labels(graphs, shape)


@pytest.mark.parametrize("shape", [LABELS, 4], ids=["labels", "attributes"])
def test_edges_that_a_view_adds_send_messages_without_features(shape: EdgeShape) -> None:
    torch.manual_seed(0)
    graphs = with_edges(random_graphs([6, 5], density=0.3), shape)
    more = AddEdges(0.6)(graphs).compact()
    assert more.num_edges > graphs.num_edges
    encoder = GIN(4, layers=1, units=8, edges=shape).double().eval()
    (layer,) = encoder.layers
    assert isinstance(layer, GINELayer)
    assert encoder.edges is not None
    h, table = layer.first(more.x), layer.edges.weight
    attr = {(u, v): row for (u, v), row in zip(graphs.edge_index.T.tolist(), one_hot(graphs, shape), strict=True)}
    absent = torch.zeros(len(table))
    e = torch.stack([attr.get((u, v), absent) for u, v in more.edge_index.T.tolist()]).double() @ table
    expected = torch.zeros_like(h)
    for (u, v), row in zip(more.edge_index.T.tolist(), e, strict=True):
        expected[v] += torch.relu(h[u] + row)
    found = encoder.edges(more)
    torch.testing.assert_close(message_sum(h, layer.edges(found.edge_attr), found), expected)


def test_without_edge_features_nothing_is_named_or_drawn_differently() -> None:
    plain = [f"layers.{n}.{part}" for n in range(2) for part in ("bias", "first.weight", *NAMES)]
    torch.manual_seed(0)
    encoder = build_encoder("gin", 4, layers=2, units=8)
    assert sorted(encoder.state_dict()) == sorted(plain)
    graphs = random_graphs(SIZES, density=0.5, categorical=True)
    labelled = with_edge_labels(graphs, LABELS)
    torch.testing.assert_close(encoder(labelled), encoder(graphs), atol=0, rtol=0)
    edged = build_encoder("gin", 4, layers=2, units=8, edges=LABELS)
    assert sorted(edged.state_dict()) == sorted([*plain, "layers.0.edges.weight", "layers.1.edges.weight"])
    assert sorted(build_encoder("molecule", 4, layers=1, units=8).state_dict()) == sorted(
        [
            *("atoms.weight", "layers.0.first.weight", "layers.0.first.bias", "layers.0.second.weight"),
            *(f"layers.0.tables.{n}" for n in range(3)),
            *(f"layers.0.{name}" for name in NAMES if name.startswith("norm")),
        ]
    )


NAMES = ("second.weight", "second.bias", "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var")


def test_the_quick_way_that_reads_no_edge_features_is_not_taken_where_there_are_some() -> None:
    graphs = with_edge_labels(random_graphs(SIZES, density=0.5, categorical=True), LABELS)
    encoder = GIN(4, layers=2, units=8, edges=LABELS).train()
    other = replace(graphs, edge_attr=graphs.edge_attr.flip(0))  # type: ignore[union-attr]
    assert not torch.allclose(embed_graphs(encoder, graphs, "sum"), embed_graphs(encoder, other, "sum"))


def test_the_molecular_encoder_takes_any_labels() -> None:
    graphs = with_edge_labels(random_graphs(SIZES, density=0.5, categorical=True), (3,))
    encoder = build_encoder("molecule", 4, layers=2, units=8, edges=(3,)).eval()
    assert [tuple(p.shape) for n, p in encoder.named_parameters() if ".0.tables" in n] == [(3, 8), (1, 8)]
    z = pool(encoder(graphs), graphs, "sum")
    assert z.shape == (5, 8)
    other = replace(graphs, edge_attr=torch.ones_like(graphs.edge_attr))  # type: ignore[arg-type]
    assert not torch.allclose(z, pool(encoder(other), other, "sum"))


@pytest.mark.parametrize("name", ["gcn", "gat"])
def test_an_encoder_that_reads_no_edge_features_says_so(name: str) -> None:
    told = f"encoder {name} reads no edge features; set data.edges=none or use encoder.name=gin or molecule"
    with pytest.raises(SettingError, match=f"^{told}$"):
        build_encoder(name, 4, layers=1, units=8, edges=(3,))


def test_the_molecular_encoder_refuses_attributes() -> None:
    with pytest.raises(SettingError, match="reads labels of edges, not attributes; set data.edges=labels"):
        MoleculeGIN(4, edges=3)


@pytest.mark.parametrize(
    ("shape", "attr", "told"),
    [
        ((2,), None, "whole numbers in 1 columns, but there is none; set data.edges=labels"),
        ((2,), torch.zeros(2, 1), "but it is torch.float32"),
        ((2,), torch.tensor([[1], [3]]), "column 0: value 3 is beyond the 2 known ones"),
        (2, None, "floating-point numbers in 2 columns, but there is none; set data.edges=attributes"),
        (2, torch.zeros(2, 2, dtype=torch.long), "but it is torch.int64"),
        (2, torch.zeros(2, 3), r"of shape \[2, 3\]"),
        (2, torch.zeros(2), r"of shape \[2\]"),
    ],
)
def test_edge_features_that_do_not_fit_are_refused_in_one_line(shape: Any, attr: Tensor | None, told: str) -> None:
    graphs = replace(one_graph(2, (0, 1)), edge_attr=attr)
    with pytest.raises(DataError, match=told) as refused:
        GIN(2, layers=1, units=4, edges=shape)(graphs)
    assert "\n" not in str(refused.value)
