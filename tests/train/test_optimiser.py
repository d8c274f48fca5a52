import math
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, LRScheduler

from nmrgcl.errors import ModelError, NonFiniteError, SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.settings import TrainSettings
from nmrgcl.train import Optimiser, Progress, Trainable, pretrain
from nmrgcl.train.checkpoint import newest_checkpoint
from nmrgcl.train.feed import batches
from nmrgcl.train.state import TrainingState, own_chance, restore, snapshot
from tests.examples import random_graphs
from tests.train.stops import Stops

GRAPHS = random_graphs([3] * 10)
OPTIONS = TrainSettings(epochs=3, batch_size=4, lr=0.1)
CPU = torch.device("cpu")


def weight() -> nn.Parameter:
    return nn.Parameter(torch.tensor([1.0, 2.0]))


@pytest.mark.parametrize("steps", [1, 2, 7, 40])
@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_schedules_are_those_of_torch(schedule: Literal["linear", "cosine"], steps: int) -> None:
    adam = torch.optim.Adam([weight()], lr=0.3)
    torchs: LRScheduler = CosineAnnealingLR(adam, T_max=steps)
    if schedule == "linear":
        torchs = LinearLR(adam, start_factor=1.0, end_factor=0.0, total_iters=steps)
    ours = Optimiser([weight()], lr=0.3, schedule=schedule)
    for step in range(steps):
        ours.set_rates(Progress(step=step, steps=steps))
        assert ours.adam.param_groups[0]["lr"] == pytest.approx(torchs.get_last_lr()[0], rel=1e-6)
        adam.step()
        torchs.step()


def test_the_rate_rises_before_it_falls_and_no_step_is_without_one() -> None:
    linear = Optimiser([weight()], lr=1.0, schedule="linear", warmup=0.3)
    assert [linear.factor(step, 10) for step in range(10)] == pytest.approx(
        [1 / 4, 2 / 4, 3 / 4, 1, 6 / 7, 5 / 7, 4 / 7, 3 / 7, 2 / 7, 1 / 7]
    )
    constant = Optimiser([weight()], lr=1.0, warmup=0.5)
    assert [constant.factor(step, 4) for step in range(4)] == pytest.approx([1 / 3, 2 / 3, 1, 1])


def test_every_group_of_parameters_keeps_its_share_of_the_rate() -> None:
    first, second = weight(), weight()
    groups: list[dict[str, Any]] = [{"params": [first]}, {"params": [second], "lr": 0.01}]
    optimiser = Optimiser(groups, lr=0.1, schedule="linear")
    for step in range(4):
        optimiser.set_rates(Progress(step=step, steps=4))
        (first.sum() + second.sum()).backward()
        optimiser.step()
        optimiser.adam.zero_grad()
    # Adam on a constant gradient moves by the rate; the rates' factors are 1, 3/4, 1/2 and 1/4.
    torch.testing.assert_close(first.detach(), torch.tensor([1.0, 2.0]) - 0.25)
    torch.testing.assert_close(second.detach(), torch.tensor([1.0, 2.0]) - 0.025)


def test_a_gradient_is_clipped_by_the_norm_of_all_parameters_together() -> None:
    first, second = weight(), weight()
    optimiser = Optimiser([first, second], lr=0.1, clip=1.0)
    first.grad, second.grad = torch.tensor([3.0, 0.0]), torch.tensor([0.0, 4.0])
    optimiser.step()
    moments = [optimiser.adam.state[p]["exp_avg"] for p in (first, second)]
    torch.testing.assert_close(moments, [torch.tensor([0.06, 0.0]), torch.tensor([0.0, 0.08])])


def test_weight_decay_is_that_of_adamw() -> None:
    ours, theirs = weight(), weight()
    optimiser, adamw = (
        Optimiser([ours], lr=0.1, weight_decay=0.5),
        torch.optim.AdamW([theirs], lr=0.1, weight_decay=0.5),
    )
    for _ in range(3):
        for parameter in (ours, theirs):
            parameter.grad = parameter.detach().square()
        optimiser.step()
        adamw.step()
    torch.testing.assert_close(ours, theirs)


def test_settings_name_the_schedule_the_warm_up_and_the_decay() -> None:
    method = Quadratic()
    (plain,) = method.optimisers(TrainSettings())
    assert not plain.scheduled
    assert not plain.adam.param_groups[0]["decoupled_weight_decay"]
    (ours,) = method.optimisers(TrainSettings(schedule="cosine", warmup=0.1, weight_decay=0.01))
    assert (ours.schedule, ours.warmup) == ("cosine", 0.1)
    assert ours.adam.param_groups[0]["weight_decay"] == 0.01


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"schedule": "cosin"}, "unknown schedule 'cosin'; did you mean cosine?"),
        ({"warmup": 1.0}, "warmup = 1.0 is not a fraction of the training; use a number from 0 to below 1"),
        ({"warmup": -0.1}, "warmup = -0.1 is not a fraction of the training; use a number from 0 to below 1"),
        ({"warmup": math.nan}, "warmup = nan is not a fraction of the training; use a number from 0 to below 1"),
        ({"lr": 0.0}, "lr = 0.0 is not a learning rate; use a number above 0"),
        ({"weight_decay": -1.0}, "weight_decay = -1.0 is not a weight decay; use 0 or a positive number"),
        ({"clip": 0.0}, "clip = 0.0 is not a gradient norm; use a number above 0, or None for no clipping"),
    ],
)
def test_impossible_values_are_refused_in_one_line(options: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingError) as caught:
        Optimiser([weight()], **({"lr": 0.1} | options))
    assert str(caught.value) == told


class Quadratic(Trainable):
    """One player with the default Adam."""

    level: Literal["graph", "node"] = "graph"

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = weight(), nn.Parameter(torch.tensor([-1.0, 0.5]))

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        yield self.value(graphs)

    def value(self, graphs: Graphs) -> Tensor:
        return (self.a * graphs.x[:, :2].mean(0) + self.a * self.b - self.b.square()).square().sum()


class Duel(Quadratic):
    """``a`` minimises what ``b`` maximises."""

    def optimisers(self, options: TrainSettings) -> list[Optimiser]:
        return [Optimiser([self.a], lr=options.lr, schedule="cosine", warmup=0.2), Optimiser([self.b], lr=0.01, clip=1)]

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        yield self.value(graphs)
        yield -self.value(graphs)


def drawn_batches() -> Iterator[Graphs]:
    for epoch in range(1, OPTIONS.epochs + 1):
        with own_chance(0, epoch, CPU):
            yield from (GRAPHS.take(part) for part in batches(len(GRAPHS), OPTIONS.batch_size))


def test_the_default_is_one_adam_over_all_parameters_bit_for_bit() -> None:
    method, slow = Quadratic(), Quadratic()
    list(pretrain(method, GRAPHS, OPTIONS))
    adam = torch.optim.Adam(slow.parameters(), lr=0.1, fused=True)
    for graphs in drawn_batches():
        adam.zero_grad()
        slow.value(graphs).backward()
        adam.step()
    assert torch.equal(method.a, slow.a)
    assert torch.equal(method.b, slow.b)


def test_two_players_step_in_turn_each_by_its_own_gradient() -> None:
    method, slow = Duel(), Duel()
    reported = [epoch.loss for epoch in pretrain(method, GRAPHS, OPTIONS)]
    one, two = (torch.optim.Adam([p], lr=rate, fused=True) for p, rate in ((slow.a, 0.1), (slow.b, 0.01)))
    values = []
    for step, graphs in enumerate(drawn_batches()):  # 9 steps, of which the first two warm up
        one.param_groups[0]["lr"] = 0.1 * ((step + 1) / 3 if step < 2 else (1 + math.cos(math.pi * (step - 2) / 7)) / 2)
        value = slow.value(graphs)
        (slow.a.grad,) = torch.autograd.grad(value, slow.a)
        values.append(float(value.detach()))
        one.step()
        (gradient,) = torch.autograd.grad(-slow.value(graphs), slow.b)
        slow.b.grad = gradient / max(1.0, float(gradient.norm()))
        two.step()
    torch.testing.assert_close([method.a, method.b], [slow.a, slow.b], rtol=1e-4, atol=1e-5)
    # An epoch reports the first player's loss; the mean of both would be near zero.
    assert reported == pytest.approx([sum(values[i : i + 3]) / 3 for i in (0, 3, 6)], rel=1e-4)


@pytest.mark.parametrize("at", range(1, 10))
def test_two_players_that_are_interrupted_continue_bit_for_bit(tmp_path: Path, at: int) -> None:
    whole, memory = Duel(), Stops(tmp_path, at)
    losses = [epoch.loss for epoch in pretrain(whole, GRAPHS, OPTIONS)]
    with pytest.raises(KeyboardInterrupt):
        list(pretrain(Duel(), GRAPHS, OPTIONS, memory=memory))
    method = Duel()
    again = [epoch.loss for epoch in pretrain(method, GRAPHS, OPTIONS, memory=memory)]
    assert again == losses[len(losses) - len(again) :]
    assert torch.equal(method.a, whole.a)
    assert torch.equal(method.b, whole.b)


def test_one_player_is_checkpointed_under_the_names_it_always_had(tmp_path: Path) -> None:
    with suppress(KeyboardInterrupt):
        list(pretrain(Quadratic(), GRAPHS, OPTIONS, memory=Stops(tmp_path, 2)))
    kept = newest_checkpoint(tmp_path)[0]
    assert kept is not None
    names = {name for name in kept.tensors if name.startswith("optimiser")}
    assert names == {f"optimiser.{number}.{part}" for number in (0, 1) for part in ("step", "exp_avg", "exp_avg_sq")}


@pytest.mark.parametrize(("kind", "other"), [(Quadratic, Duel), (Duel, Quadratic)])
def test_one_player_does_not_continue_as_two_nor_two_as_one(kind: type[Quadratic], other: type[Quadratic]) -> None:
    trained, method = kind(), other()
    optimisers = trained.optimisers(OPTIONS)
    for optimiser in optimisers:
        trained.value(GRAPHS).backward()
        optimiser.step()
    kept = snapshot(TrainingState(), trained, optimisers, CPU)
    with pytest.raises(ModelError, match="the checkpoint does not fit this model"):
        restore(kept, method, method.optimisers(OPTIONS))


class Broken(Duel):
    """The second player's loss is not a number in the fifth batch."""

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        yield self.value(graphs)
        yield -self.value(graphs) * (math.nan if progress.step == 4 else 1.0)


def test_a_bad_number_of_one_player_stops_both() -> None:
    method = Broken()
    with pytest.raises(NonFiniteError, match="epoch 2, batch 2"):
        list(pretrain(method, GRAPHS, OPTIONS))
    assert method.a.isfinite().all()
    assert method.b.isfinite().all()
