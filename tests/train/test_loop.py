from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import pytest
import torch
from torch import Tensor, nn

from nmrgcl.diagnose.collapse import effective_rank
from nmrgcl.errors import DataError, SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.settings import TrainSettings
from nmrgcl.train import Progress, Trainable, pretrain
from nmrgcl.train.feed import batches
from nmrgcl.train.state import TrainingState, own_chance, restore, snapshot
from tests.examples import random_graphs

GRAPHS = random_graphs([3] * 10)


class Scripted(Trainable):
    """Its loss in epoch n is ``script[n]``, independent of the weights."""

    level: Literal["graph", "node"] = "graph"

    def __init__(self, *script: float, steps: int = 1) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))
        self.script, self.steps, self.calls = script, steps, 0

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        for _ in range(self.steps):
            yield self.weight - self.weight.detach() + self.script[self.calls // self.steps]
            self.calls += 1


def test_training_stops_when_the_loss_stops_falling() -> None:
    options = TrainSettings(epochs=50, batch_size=10, patience=3)
    numbers = [e.number for e in pretrain(Scripted(5, 4, 3, 3, 3, 3, 3, 3), GRAPHS, options)]
    assert numbers == [1, 2, 3, 4, 5, 6]


def test_a_loss_that_is_hardly_lower_does_not_count_as_lower() -> None:
    options = TrainSettings(epochs=50, batch_size=10, patience=2, least_gain=0.1)
    losses = [10.0, 9.5, 8.9, 8.5, 8.1, 7.9, 7.9, 7.9]  # 8.9 < 9; 8.5 and 8.1 > 8.01
    assert len(list(pretrain(Scripted(*losses), GRAPHS, options))) == 5
    negative = [-10.0, -10.5, -11.5, -12.0, -12.5, -20.0]  # -11.5 < -11; -12 and -12.5 > -12.65
    assert len(list(pretrain(Scripted(*negative), GRAPHS, options))) == 5


def test_early_stopping_continues_from_where_a_checkpoint_stood() -> None:
    state = TrainingState()
    for loss in (10.0, 9.5, 8.9, 8.5):
        state.end_epoch(loss, 0.1)
    method = Scripted(1.0)
    optimisers = method.optimisers(TrainSettings())
    again = restore(snapshot(state, method, optimisers, torch.device("cpu")), method, optimisers)
    assert (again.best, again.best_epoch, again.idle_epochs) == (8.9, 3, 1)


def test_the_optimiser_steps_once_for_each_loss_that_is_yielded() -> None:
    method = Scripted(1.0, steps=3)
    list(pretrain(method, GRAPHS, TrainSettings(epochs=1, batch_size=10, lr=0.1)))
    assert float(method.weight.detach()) == pytest.approx(
        1 - 3 * 0.1, abs=1e-4
    )  # Adam on a constant gradient moves by lr


def test_a_loss_that_is_not_finite_stops_with_a_hint() -> None:
    with pytest.raises(SettingError, match="lower train.lr"):
        list(pretrain(Scripted(float("nan")), GRAPHS, TrainSettings(epochs=1, batch_size=10)))


def test_one_graph_cannot_be_contrasted() -> None:
    with pytest.raises(DataError, match="at least two graphs"):
        list(pretrain(Scripted(1.0), random_graphs([4]), TrainSettings(epochs=1)))


def test_batches_hold_every_graph_once_but_never_one_alone() -> None:
    parts = list(batches(11, 5))
    assert [len(p) for p in parts] == [5, 5]
    assert sorted(torch.cat(list(batches(12, 5))).tolist()) == list(range(12))


class Regression(Trainable):
    """A linear map with two losses per batch that depend on its weights."""

    level: Literal["graph", "node"] = "graph"

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(4, 3)

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        for _ in range(2):
            yield (self.linear(graphs.x).float() - 1).square().mean()


def test_every_bf16_step_sees_the_weights_that_the_one_before_left() -> None:
    options = TrainSettings(epochs=2, batch_size=2, lr=0.1, precision="bf16")
    method = Regression()
    found = [epoch.loss for epoch in pretrain(method, GRAPHS, options, seed=3)]
    slow, expected = Regression(), []
    optimiser = torch.optim.Adam(slow.parameters(), lr=0.1, fused=True)
    for epoch in (1, 2):
        with own_chance(3, epoch, GRAPHS.device):
            parts = batches(len(GRAPHS), 2)
        losses = []
        for part in parts:
            for _ in range(2):
                with torch.autocast("cpu", torch.bfloat16):  # One context per step, as recommended.
                    loss = next(slow.losses(GRAPHS.take(part), Progress()))
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                losses.append(loss.detach())
        expected.append(float(torch.stack(losses).sum() / len(losses)))
    assert found == pytest.approx(expected, rel=1e-6)
    torch.testing.assert_close(method.state_dict(), slow.state_dict())


def test_training_leaves_the_callers_generator_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    list(pretrain(Scripted(1, 1), GRAPHS, TrainSettings(epochs=2, batch_size=10)))
    assert torch.equal(torch.rand(3), expected)


@dataclass
class Case:
    z: Tensor
    rank: float


@pytest.mark.parametrize(
    "case",
    [
        Case(torch.ones(5, 3), 0.0),
        Case(torch.outer(torch.arange(5.0), torch.tensor([1.0, 2.0, 3.0])), 1.0),
        Case(torch.cat([torch.eye(4), -torch.eye(4)]), 4.0),
    ],
    ids=["constant", "one direction", "isotropic"],
)
def test_effective_rank_of_known_spectra(case: Case) -> None:
    assert effective_rank(case.z) == pytest.approx(case.rank, abs=1e-6)
