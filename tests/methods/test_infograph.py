"""InfoGraph: its objective by slow loops, its two networks, its prior, and batches it cannot learn from."""

import math

import pytest
import torch
from torch import Tensor

from nmrgcl.contrast import local_global
from nmrgcl.encode import ResidualHead
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Room
from nmrgcl.methods import build_pretraining
from nmrgcl.train import Progress
from tests.methods.members import GRAPHS, settings_of

BATCH = torch.tensor([0, 0, 0, 2, 2, 3])
"""Four graphs, of which one has no nodes."""


def softplus(t: float) -> float:
    return math.log1p(math.exp(t))


def by_loops(nodes: Tensor, graphs: Tensor, batch: Tensor) -> float:
    own, foreign = [], []
    for v, node in enumerate(nodes):
        for g, graph in enumerate(graphs):
            t = float(node @ graph)
            if int(batch[v]) == g:
                own.append(math.log(2) - softplus(-t))
            else:
                foreign.append(softplus(t) - math.log(2))
    return sum(foreign) / len(foreign) - sum(own) / len(own)


def test_the_loss_is_its_definition_as_slow_loops() -> None:
    torch.manual_seed(0)
    nodes, graphs = torch.randn(6, 3, dtype=torch.float64), torch.randn(4, 3, dtype=torch.float64)
    assert float(local_global(nodes, graphs, BATCH)) == pytest.approx(by_loops(nodes, graphs, BATCH), abs=1e-12)
    keep = torch.tensor([True, False, True, True, True, False])
    expected = by_loops(nodes[keep], graphs, BATCH[keep])
    assert float(local_global(nodes, graphs, BATCH, keep)) == pytest.approx(expected, abs=1e-12)


def test_its_gradient_equals_finite_differences() -> None:
    torch.manual_seed(0)
    nodes = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    graphs = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda n, g: local_global(n, g, BATCH), (nodes, graphs))


def test_by_hand_scores_of_zero_cost_nothing_and_perfect_ones_as_little_as_possible() -> None:
    batch = torch.tensor([0, 1])
    assert float(local_global(torch.zeros(2, 2), torch.eye(2), batch)) == pytest.approx(0, abs=1e-6)
    sure = torch.tensor([[100.0, -100.0], [-100.0, 100.0]])
    assert float(local_global(sure, torch.eye(2), batch)) == pytest.approx(-2 * math.log(2))


def test_one_graph_has_nothing_to_be_told_from() -> None:
    method = build_pretraining(settings_of("infograph"), GRAPHS.num_features)
    with pytest.raises(SettingError, match=r"needs at least two graphs in a batch; raise train\.batch_size"):
        list(method.losses(GRAPHS.take(torch.tensor([0])), Progress()))


def test_graphs_without_nodes_are_no_division_by_zero() -> None:
    method = build_pretraining(settings_of("infograph"), GRAPHS.num_features).train()
    (loss,) = method.losses(GRAPHS.take(torch.tensor([4, 4])), Progress())
    assert loss.item() == pytest.approx(-2 * math.log(2))


def test_a_padded_batch_has_the_loss_of_the_plain_one() -> None:
    method = build_pretraining(settings_of("infograph"), GRAPHS.num_features).double().eval()
    index = torch.tensor([3, 0, 5])
    (plain,), (padded,) = (
        method.losses(graphs, Progress()) for graphs in (GRAPHS.take(index), GRAPHS.take_padded(index, Room(64, 128)))
    )
    torch.testing.assert_close(padded, plain)


def test_a_network_is_three_layers_and_a_shortcut() -> None:
    head = ResidualHead(2)
    with torch.no_grad():
        for module in (head.deep[0], head.deep[2], head.deep[4], head.shortcut):
            module.weight.copy_(2 * torch.eye(2))  # type: ignore[operator]
    # 8 · relu(x) + 2 · x
    assert head(torch.tensor([[1.0, -1.0]])).tolist() == [[10.0, -2.0]]


def test_the_prior_is_an_adversary() -> None:
    """A step along the judge's gradient lowers what it is judged by, and one along the encoder's raises it."""
    method = build_pretraining(settings_of("infograph", "prior=0.1"), 4)
    torch.manual_seed(0)
    summary = torch.randn(5, 16, requires_grad=True)

    def recognised(at: Tensor) -> Tensor:
        torch.manual_seed(1)
        return method._recognised(at)  # type: ignore[operator]

    before = recognised(summary)
    before.backward()
    assert summary.grad is not None
    with torch.no_grad():
        assert recognised(summary - 0.01 * summary.grad) > before
        for parameter in method.judge.parameters():  # type: ignore[union-attr]
            assert parameter.grad is not None
            parameter -= 0.01 * parameter.grad
        assert recognised(summary) < before


def test_with_the_prior_every_parameter_is_reached() -> None:
    method = build_pretraining(settings_of("infograph", "prior=0.1"), GRAPHS.num_features).train()
    (loss,) = method.losses(GRAPHS, Progress())
    loss.backward()
    assert all(p.grad is not None for p in method.parameters())


def test_nodes_of_one_graph_are_refused() -> None:
    with pytest.raises(SettingError, match=r"infograph embeds graphs, not nodes; use level = graph"):
        build_pretraining(settings_of("infograph", "level=node"), 4)
