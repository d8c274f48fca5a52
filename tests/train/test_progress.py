from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest
import torch
from torch import Tensor, nn

from nmrgcl.graphs import Graphs
from nmrgcl.settings import TrainSettings
from nmrgcl.train import Progress, Trainable, pretrain
from nmrgcl.train.loop import _computing
from nmrgcl.train.state import TrainingState
from nmrgcl.train.step import GuardedStep
from tests.examples import random_graphs
from tests.train.stops import Stops

GRAPHS = random_graphs([3] * 10)
OPTIONS = TrainSettings(epochs=2, batch_size=4)
EXPECTED = [
    ("epoch", Progress(epoch=1, step=0, epochs=2, steps=6)),
    *(("batch", Progress(epoch=1, step=step, epochs=2, steps=6)) for step in (0, 1, 2)),
    ("epoch", Progress(epoch=2, step=3, epochs=2, steps=6)),
    *(("batch", Progress(epoch=2, step=step, epochs=2, steps=6)) for step in (3, 4, 5)),
]
"""Batches of 4, 4 and 2 graphs."""


class Watching(Trainable):
    """Records the progress that it gets."""

    level: Literal["graph", "node"] = "graph"

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))
        self.told: list[tuple[str, Progress]] = []

    def begin_epoch(self, progress: Progress) -> None:
        self.told.append(("epoch", progress))

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        self.told.append(("batch", progress))
        yield self.weight.square()


class Reading(Watching):
    """Its loss depends on the epoch."""

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        yield self.weight * progress.epoch


class Honest(Reading):
    """Declares that its loss depends on the epoch."""

    CAPTURABLE = False


def test_a_method_is_told_of_every_epoch_and_every_batch() -> None:
    method = Watching()
    list(pretrain(method, GRAPHS, OPTIONS))
    assert method.told == EXPECTED


@pytest.mark.parametrize("at", range(1, 7))
def test_a_resumed_training_counts_on_and_begins_no_epoch_twice(tmp_path: Path, at: int) -> None:
    memory, told = Stops(tmp_path, at), []
    for _ in range(2):
        method = Watching()
        with suppress(KeyboardInterrupt):
            list(pretrain(method, GRAPHS, OPTIONS, memory=memory))
        told += method.told
    assert told == EXPECTED


def gpu_step(method: Trainable, record: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    """The function that would compute batches on a GPU if ``record`` makes recordings."""
    monkeypatch.setattr("nmrgcl.train.loop._recorded", record)
    feed: Any = SimpleNamespace(device=torch.device("cuda"), padded=True, constant=False)
    return _computing(GuardedStep(method, method.optimisers(OPTIONS), TrainingState()), feed, OPTIONS)


def test_a_step_that_reads_progress_is_recorded_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def record(step: GuardedStep, feed: Any, options: TrainSettings) -> str:
        step(GRAPHS)
        return "recording"

    assert gpu_step(Watching(), record, monkeypatch) == "recording"
    with pytest.warns(UserWarning, match=r"not recorded \(the method reads progress.epoch, so it must say CAPTURABLE"):
        assert callable(gpu_step(Reading(), record, monkeypatch))
    assert callable(gpu_step(Honest(), record, monkeypatch))  # without a warning, which would be an error here


@pytest.mark.parametrize(("steps", "per_epoch"), [(1, [1]), (3, [3]), (5, [3, 2]), (7, [3, 3, 1])])
def test_steps_end_a_training_whatever_the_epochs(steps: int, per_epoch: list[int]) -> None:
    method, watched = Watching(), list[tuple[int, int, int]]()
    options = TrainSettings(epochs=2, batch_size=4, steps=steps)
    epochs = list(pretrain(method, GRAPHS, options, watch=lambda p, items: watched.append((p.step, p.steps, items))))
    assert [epoch.last for epoch in epochs] == [False] * (len(per_epoch) - 1) + [True]
    batches = [progress for kind, progress in method.told if kind == "batch"]
    assert [sum(one.epoch == number for one in batches) for number in range(1, len(per_epoch) + 1)] == per_epoch
    assert {(one.epochs, one.steps) for one in batches} == {(len(per_epoch), steps)}
    assert watched == [(step, steps, 3) for step in range(1, steps + 1)]  # ten graphs in three batches


@pytest.mark.parametrize("at", range(1, 6))
def test_a_training_by_steps_continues_as_if_nothing_had_happened(tmp_path: Path, at: int) -> None:
    options, memory, told, epochs = TrainSettings(epochs=1, batch_size=4, steps=5), Stops(tmp_path, at), [], []
    for _ in range(2):
        method = Watching()
        with suppress(KeyboardInterrupt):
            for one in pretrain(method, GRAPHS, options, memory=memory):
                epochs.append((one.number, one.loss))
        told += method.told
    whole = Watching()
    assert epochs == [(one.number, one.loss) for one in pretrain(whole, GRAPHS, options)]
    assert told == whole.told
    assert torch.equal(method.weight, whole.weight)
