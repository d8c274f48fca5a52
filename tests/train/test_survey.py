"""A method sees the batches of an epoch before training on the first one, and only at the start of an epoch."""

from collections.abc import Iterator
from contextlib import nullcontext, suppress
from itertools import islice
from pathlib import Path
from typing import Literal

import pytest
import torch
from torch import Tensor, nn

from nmrgcl.graphs import Graphs
from nmrgcl.settings import TrainSettings
from nmrgcl.train import Progress, Trainable, pretrain
from nmrgcl.train.feed.chunks import Chunks
from nmrgcl.train.loop import _batches
from tests.examples import random_graphs
from tests.train.stops import Stops

GRAPHS = random_graphs([3] * 10)
OPTIONS = TrainSettings(epochs=2, batch_size=4)


class Surveying(Trainable):
    """Records the features of the first ``few`` batches, and whether training sees the same ones."""

    level: Literal["graph", "node"] = "graph"
    few: int | None = None

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))
        self.seen: list[Tensor] = []
        self.trained: list[Tensor] = []
        self.surveys: list[Progress] = []

    def survey(self, batches: Iterator[Graphs], progress: Progress) -> None:
        assert not torch.is_grad_enabled()
        self.surveys.append(progress)
        self.seen += [graphs.x for graphs in islice(batches, self.few)]

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        self.trained.append(graphs.x)
        yield self.weight.square()


def test_all_batches_are_seen_in_the_order_in_which_they_are_trained_on() -> None:
    method = Surveying()
    list(pretrain(method, GRAPHS, OPTIONS))
    assert method.surveys == [Progress(1, 0, 2, 6), Progress(2, 3, 2, 6)]
    assert len(method.seen) == 6
    assert all(torch.equal(a, b) for a, b in zip(method.seen, method.trained, strict=True))


@pytest.mark.parametrize("at", range(1, 7))
def test_a_resumed_epoch_is_not_surveyed_again(tmp_path: Path, at: int) -> None:
    memory, surveys = Stops(tmp_path, at), []
    for _ in range(2):
        method = Surveying()
        with suppress(KeyboardInterrupt):
            list(pretrain(method, GRAPHS, OPTIONS, memory=memory))
        surveys += method.surveys
    assert [progress.epoch for progress in surveys] == [1, 2]


@pytest.mark.parametrize("few", [0, 1, 2, 3])
def test_a_feed_of_chunks_begins_anew_after_a_look_at_some_of_them(few: int) -> None:
    feed = Chunks(GRAPHS, torch.device("cpu"), 4, 2)
    parts = feed.cut()
    seen = [graphs.x.clone() for graphs in islice(_batches(feed, parts, lambda _: nullcontext()), few)]
    feed.begin(parts, 0)
    trained = [feed.take(*feed.batch(position)).x.clone() for position in range(len(parts))]
    feed.close()
    expected = [GRAPHS.take(part).x for part in parts]
    assert all(torch.equal(a, b) for a, b in zip(seen, expected, strict=False))
    assert all(torch.equal(a, b) for a, b in zip(trained, expected, strict=True))


def test_a_method_that_does_not_look_has_nothing_read_for_it() -> None:
    class Blind(Surveying):
        def survey(self, batches: Iterator[Graphs], progress: Progress) -> None:
            Trainable.survey(self, batches, progress)

    one, two = Blind(), Surveying()
    two.few = 1
    for method in (one, two):
        list(pretrain(method, GRAPHS, OPTIONS))
    assert one.seen == []
    # A survey changes neither the order of batches nor their content.
    assert all(torch.equal(a, b) for a, b in zip(one.trained, two.trained, strict=True))
