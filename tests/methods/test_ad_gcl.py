"""AD-GCL: two players, the price of edges, weights that both directions share, and graphs without edges."""

from collections.abc import Callable
from typing import cast

import pytest
import torch
from torch import Tensor

from nmrgcl.encode.edge_score import EdgeScore
from nmrgcl.errors import DataError, SettingError
from nmrgcl.graphs import Graphs, Room
from nmrgcl.methods import build_pretraining
from nmrgcl.methods.ad_gcl import ADGCL, share_away, weighted
from nmrgcl.settings import TrainSettings
from nmrgcl.train import Progress, pretrain
from tests.examples import one_graph, random_graphs
from tests.methods.members import GRAPHS, settings_of


def build(*assignments: str) -> ADGCL:
    return cast("ADGCL", build_pretraining(settings_of("ad_gcl", *assignments), GRAPHS.num_features))


def contrast(method: ADGCL) -> Tensor:
    """The loss that both players play for, with the same draws each time."""
    torch.manual_seed(3)
    return next(iter(method.losses(GRAPHS, Progress())))


@pytest.mark.parametrize(("player", "raises"), [(0, False), (1, True)])
def test_the_learner_raises_the_loss_that_the_encoder_lowers(player: int, raises: bool) -> None:
    method = build("penalty=0.0").train()
    before = contrast(method).item()
    optimiser = method.optimisers(TrainSettings(lr=1e-3))[player]
    for _ in range(20):
        torch.manual_seed(3)
        losses = list(method.losses(GRAPHS, Progress()))
        optimiser.adam.zero_grad()
        losses[player].backward()
        optimiser.step()
    after = contrast(method).item()
    assert (after > before + 0.01) if raises else (after < before - 0.01)


def test_the_encoders_loss_does_not_reach_the_learner() -> None:
    method = build().train()
    contrast(method).backward()
    learner = [*method.learner.parameters(), *method.score.parameters()]
    assert all(p.grad is None for p in learner)


def test_each_optimiser_moves_its_own_player_only() -> None:
    method = build().train()
    ours, theirs = method.optimisers(TrainSettings())
    names = {id(p): name.partition(".")[0] for name, p in method.named_parameters()}
    assert {names[id(p)] for p in ours.parameters} == {"encoder", "head"}
    assert {names[id(p)] for p in theirs.parameters} == {"learner", "score"}
    assert len(ours.parameters) + len(theirs.parameters) == len(names)


def test_the_price_of_edges_by_hand() -> None:
    """A path of three nodes, a pair, and a single node, which has no edges and does not count."""
    edges = torch.tensor([[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]])
    graphs = Graphs.build(edges, torch.tensor([0, 3, 5, 6]))
    weight = torch.tensor([1.0, 0.5, 0.5, 0.0, 0.25, 0.25])
    # (0 + ½ + ½ + 1) / 4 and (¾ + ¾) / 2
    assert float(share_away(weight, graphs)) == pytest.approx((0.5 + 0.75) / 2)
    padded = graphs.take_padded(torch.tensor([0, 1, 2]), Room(20, 16))
    assert float(share_away(torch.cat([weight, torch.zeros(10)]), padded)) == pytest.approx((0.5 + 0.75) / 2)


def test_both_directions_have_one_weight_between_nought_and_one() -> None:
    weight = build().train().weights(GRAPHS)
    torch.testing.assert_close(weight, weight.index_select(0, GRAPHS.pair), rtol=1e-6, atol=0)
    assert bool(((weight > 0) & (weight < 1)).all())


def test_an_edges_score_is_the_mean_of_the_perceptron_in_both_directions() -> None:
    graphs = random_graphs([6, 5], density=0.5)
    torch.manual_seed(0)
    score, h = EdgeScore(4, units=7), torch.randn(graphs.num_nodes, 4)
    perceptron: Callable[[Tensor], Tensor] = lambda ends: score.second(torch.relu(score.first(ends)))  # noqa: E731
    for found, (u, v) in zip(score(h, graphs), graphs.edge_index.T.tolist(), strict=True):
        expected = (perceptron(torch.cat([h[u], h[v]])) + perceptron(torch.cat([h[v], h[u]]))) / 2
        torch.testing.assert_close(found[None], expected)


def test_weights_multiply_those_that_graphs_bring() -> None:
    graphs = weighted(one_graph(2, (0, 1)), torch.tensor([2.0, 3.0]))
    assert weighted(graphs, torch.tensor([0.5, 0.5])).edge_weight.tolist() == [1.0, 1.5]  # type: ignore[union-attr]


def test_graphs_without_edges_are_refused_in_one_line_and_a_batch_without_them_is_not() -> None:
    bare = random_graphs([3, 1, 4, 2], density=0.0, categorical=True)
    with pytest.raises(DataError, match="learns which edges to remove, and these graphs have none"):
        list(pretrain(build(), bare, TrainSettings(epochs=1, batch_size=2)))
    assert all(torch.isfinite(loss) for loss in build().train().losses(bare, Progress()))


def test_an_encoder_that_reads_no_weights_is_refused() -> None:
    with pytest.raises(SettingError, match=r"learns edge weights; use encoder\.name = gin, gcn or molecule"):
        build("encoder.name=gat")


def test_nodes_of_one_graph_are_refused_and_so_is_a_batch_of_one_graph() -> None:
    with pytest.raises(SettingError, match=r"ad_gcl embeds graphs, not nodes; use level = graph"):
        build("level=node")
    with pytest.raises(SettingError, match="at least two graphs in a batch"):
        list(build().losses(GRAPHS.take(torch.tensor([0])), Progress()))
