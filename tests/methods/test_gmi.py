"""GMI: the streamed sum over all pairs equals the dense one, its parts are their definitions, and what is refused."""

import pytest
import torch
from torch import Tensor
from torch.nn.functional import softplus

from nmrgcl.errors import DataError, SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.methods import build_pretraining
from nmrgcl.methods.gmi import GMI, edge_loss
from nmrgcl.ops import similarities
from nmrgcl.ops.neighbour_sum import edge_scores
from nmrgcl.ops.similarities import pair_softplus
from nmrgcl.train import Progress
from tests.examples import one_graph, random_graphs, sparse_x
from tests.methods.members import NETWORK, settings_of


def gmi(*assignments: str) -> GMI:
    method = build_pretraining(settings_of("gmi", *assignments, level="node"), NETWORK.num_features)
    assert isinstance(method, GMI)
    return method.train()


def dense_edge_loss(h: Tensor, graphs: Graphs) -> Tensor:
    """As its code has it, with all N² pairs in memory."""
    adjacency = torch.eye(graphs.num_nodes, dtype=h.dtype)
    adjacency[graphs.edge_index[1], graphs.edge_index[0]] = 1
    pairs, count = adjacency.numel(), adjacency.sum() / 2
    similar = (h @ h.T).sigmoid()
    weight = (pairs - count) / count
    entropy = -weight * adjacency * similar.log() - (1 - adjacency) * (1 - similar).log()
    return pairs / (pairs - count) * entropy.mean()


def embeddings(rows: int) -> Tensor:
    torch.manual_seed(0)
    return (0.5 * torch.randn(rows, 5, dtype=torch.float64)).requires_grad_()


@pytest.mark.parametrize("directed", [False, True])
def test_the_streamed_loss_of_edges_equals_the_dense_one(directed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarities, "TILE", 7)  # several tiles, the last one smaller
    graphs = NETWORK
    if directed:
        graphs = Graphs.build(NETWORK.edge_index[:, ::3], NETWORK.node_ptr, x=NETWORK.x)
        assert not graphs.symmetric
    h = embeddings(40)
    found, expected = edge_loss(h, graphs), dense_edge_loss(h, graphs)
    torch.testing.assert_close(found, expected)
    for ours, theirs in zip(torch.autograd.grad(found, h), torch.autograd.grad(expected, h), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_three_nodes_by_hand() -> None:
    """Nodes 0 and 1 are joined. N² = 9, ΣA / 2 = 2.5, w₁ = 2.6 and w₂ = 9 / 6.5; all inner products are 0 or 1."""
    graphs = Graphs.build(torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 3]))
    h = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    at_one, at_zero = softplus(torch.tensor(-1.0)), softplus(torch.tensor(0.0))
    # Five ones in A, all with similarity 1: two directions and three loops. Four pairs without an edge, all at 0.
    torch.testing.assert_close(edge_loss(h, graphs), (5 * 2.6 * at_one + 4 * at_zero) / 6.5)


def test_the_streamed_sum_keeps_no_pairs() -> None:
    """Its backward pass has only the embeddings to start from."""
    h = embeddings(50)
    saved: list[Tensor] = []

    def note(tensor: Tensor) -> Tensor:
        saved.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        pair_softplus(h)
    assert sum(t.numel() for t in saved) == h.numel()


def test_scores_of_edges_are_inner_products_of_their_ends() -> None:
    graphs = random_graphs([9], density=0.4)
    h = embeddings(9)
    source, destination = graphs.edge_index
    weight = torch.arange(graphs.num_edges, dtype=torch.float64).sin()
    expected = (h[source] * h[destination]).sum(1)
    torch.testing.assert_close(edge_scores(h, graphs), expected)
    (ours,) = torch.autograd.grad((edge_scores(h, graphs) * weight).sum(), h)
    (theirs,) = torch.autograd.grad((expected * weight).sum(), h)
    torch.testing.assert_close(ours, theirs)


def test_the_parts_add_up_by_their_weights() -> None:
    losses = {}
    for name in ("own_weight", "around_weight", "edges_weight"):
        method = gmi(
            *(
                f"options.{other}={2 if other == name else 0}"
                for other in ("own_weight", "around_weight", "edges_weight")
            )
        )
        torch.manual_seed(3)
        (losses[name],) = method.losses(NETWORK, Progress())
    torch.manual_seed(3)
    (whole,) = gmi("options.own_weight=2", "options.around_weight=2", "options.edges_weight=2").losses(
        NETWORK, Progress()
    )
    torch.testing.assert_close(whole, sum(losses.values()))
    method = gmi()
    torch.testing.assert_close(losses["edges_weight"], 2 * edge_loss(method.encoder(NETWORK), NETWORK))


def test_neighbours_are_averaged_without_the_node_itself() -> None:
    method = gmi()
    mapped = NETWORK.x @ method.encoder.get_parameter("layers.0.linear.weight")
    source, destination = NETWORK.edge_index
    for node in range(40):
        around = mapped[source[destination == node]]
        mean = around.mean(0) if len(around) else torch.zeros(8)
        torch.testing.assert_close(
            method._neighbours(NETWORK)[node], torch.nn.functional.prelu(mean, torch.tensor(0.25))
        )


def test_a_node_is_never_its_own_negative() -> None:
    """Rows that are alike only with themselves score 1 with themselves, and with others, however drawn, 0."""
    rows = 20 * torch.eye(6)
    for seed in range(5):
        torch.manual_seed(seed)
        found = gmi()._jensen_shannon(rows, rows)
        torch.testing.assert_close(found, softplus(torch.tensor(-1.0)) + softplus(torch.tensor(0.5)))


def test_sparse_features_are_features_like_others() -> None:
    losses = []
    for graphs in (NETWORK, sparse_x(NETWORK)):
        torch.manual_seed(4)
        losses += list(gmi().losses(graphs, Progress()))
    torch.testing.assert_close(*losses)


def test_what_it_cannot_do_is_reported_in_one_line() -> None:
    with pytest.raises(SettingError, match=r"gmi embeds nodes, not graphs; use level = node \(--preset gmi\)"):
        build_pretraining(settings_of("gmi", "level=graph", level="node"), 4)
    with pytest.raises(SettingError, match="method gmi means encoder.name = 'gcn', not 'gin'"):
        settings_of("gmi", "encoder.name=gin", "encoder.activation=relu", level="node")
    alone = one_graph(1)
    method = build_pretraining(settings_of("gmi", level="node"), alone.num_features)
    with pytest.raises(DataError, match="gmi compares nodes with each other, but this graph has only one node"):
        list(method.losses(alone, Progress()))
