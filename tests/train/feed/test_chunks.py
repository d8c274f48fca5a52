"""Training through chunks: the order by its slow definition, resumed bit for bit, from a store that is trusted no more
than any other.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from nmrgcl.errors import DataError, NonFiniteError
from nmrgcl.graphs import Graphs
from nmrgcl.methods import build_method
from nmrgcl.settings import TrainSettings, resolve
from nmrgcl.store import Store, open_store, write_store
from nmrgcl.train import Epoch, Progress, Trainable, pretrain
from nmrgcl.train.checkpoint import Checkpoint
from nmrgcl.train.feed import Feed, batches, open_feed
from nmrgcl.train.feed.choose import fit, usual_chunk
from nmrgcl.train.feed.chunks import Chunks
from nmrgcl.train.feed.resident import Resident
from tests.examples import random_graphs

CPU = torch.device("cpu")
GRAPHS = random_graphs([6, 1, 9, 4, 0, 7, 5, 8, 3, 2] * 5, density=0.4, categorical=True)
SETTINGS = resolve(
    "graphcl", assignments=["epochs=3", "batch_size=4", "chunk_graphs=15", "layers=2", "encoder.units=4"]
)
STEPS = 13  # 50 graphs in batches of 4


@pytest.fixture
def store(tmp_path: Path) -> Store:
    write_store(tmp_path / "store", GRAPHS)
    return open_store(tmp_path / "store")


class Listed:
    """A source that records what is requested."""

    def __init__(self) -> None:
        self.num_features, self.asked = GRAPHS.num_features, list[Tensor]()

    def __len__(self) -> int:
        return len(GRAPHS)

    def sizes(self) -> tuple[Tensor, Tensor]:
        return GRAPHS.sizes()

    def take(self, index: Tensor) -> Graphs:
        if len(index):  # An empty index only asks for the kind of tensors.
            self.asked.append(index)
        return GRAPHS.take(index)


def seen(feed: Feed) -> list[list[int]]:
    """The graphs of each batch of an epoch, identified by their edges and labels."""
    torch.manual_seed(7)
    parts = batches(feed.items, 4, feed.chunk)
    feed.begin(parts, 0)
    found = []
    for position, part in enumerate(parts):
        graphs, index = feed.batch(position)
        assert torch.equal(graphs.take(index).edge_index, GRAPHS.take(part).edge_index)
        assert torch.equal(graphs.take(index).x, GRAPHS.take(part).x)
        found.append(part.tolist())
    feed.close()
    return found


def test_an_epoch_sees_every_graph_once_and_reads_it_once() -> None:
    source = Listed()
    found = seen(Chunks(source, CPU, 16, 4))
    assert sorted(i for part in found for i in part) == list(range(50))
    assert [len(index) for index in source.asked] == [16, 16, 16, 2]
    assert sorted(torch.cat(source.asked).tolist()) == list(range(50))
    assert all(torch.equal(index, index.sort().values) for index in source.asked)


def train(graphs: Any, **options: Any) -> tuple[list[Epoch], dict[str, Tensor]]:
    method = build_method(SETTINGS, GRAPHS.num_features)
    with suppress(KeyboardInterrupt):
        return list(pretrain(method, graphs, SETTINGS.train, **options)), method.state_dict()
    return [], method.state_dict()


def test_training_by_chunks_is_training_in_that_order(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The slow definition: all graphs in memory, and each batch taken by index."""
    epochs, weights = train(store)

    def all_in_memory(source: Any, device: Any, options: TrainSettings, level: str, chunk: int) -> Feed:
        return Resident(source, device, options.batch_size, 16)  # 15 in whole batches

    monkeypatch.setattr("nmrgcl.train.loop.open_feed", all_in_memory)
    expected, same = train(GRAPHS)
    assert [e.loss for e in epochs] == [e.loss for e in expected]
    assert all(torch.equal(weights[key], same[key]) for key in weights)


class Stops:
    """Stores a checkpoint after a given batch and ends the training; later recalls it."""

    def __init__(self, at: int) -> None:
        self.at, self.seen, self.kept = at, 0, None

    kept: Checkpoint | None

    def recall(self) -> Checkpoint | None:
        return self.kept

    def due(self, *, epoch_ended: bool) -> bool:
        self.seen += not epoch_ended
        return not epoch_ended and self.seen == self.at

    def keep(self, step: int, checkpoint: Checkpoint) -> None:
        tensors = {name: tensor.clone() for name, tensor in checkpoint.tensors.items()}
        self.kept = Checkpoint(tensors, dict(checkpoint.values))
        raise KeyboardInterrupt


@pytest.mark.parametrize("at", [1, 3, 4, 5, 12, STEPS, STEPS + 1, 2 * STEPS + 6, 3 * STEPS])
def test_a_training_by_chunks_that_is_resumed_equals_one_that_was_not(store: Store, at: int) -> None:
    whole, weights = train(store)
    memory = Stops(at)
    assert train(store, memory=memory)[0] == []
    epochs, resumed = train(store, memory=memory)
    assert [e.loss for e in epochs] == [e.loss for e in whole[-len(epochs) :]]
    assert all(torch.equal(weights[key], resumed[key]) for key in weights)


def test_chunks_that_memory_asked_for_outlast_the_shortage(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = SETTINGS.updated({"chunk_graphs": 0})
    monkeypatch.setattr("nmrgcl.train.feed.choose.CHUNK_BYTES", 5_000)

    def weights(memory: Stops | None) -> dict[str, Tensor]:
        method = build_method(settings, GRAPHS.num_features)
        with suppress(KeyboardInterrupt):
            list(pretrain(method, store, settings.train, memory=memory))
        return method.state_dict()

    with monkeypatch.context() as patch:
        patch.setattr("nmrgcl.train.feed.choose.available_bytes", lambda device: 1000)
        whole = weights(None)
        memory = Stops(6)
        weights(memory)
    assert memory.kept is not None
    assert 0 < memory.kept.values["chunk"] < 50
    resumed = weights(memory)
    assert all(torch.equal(whole[key], resumed[key]) for key in whole)
    assert not all(torch.equal(whole[key], value) for key, value in weights(None).items())


def test_whether_graphs_fit_is_their_bytes_against_half_of_what_is_free(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = sum(getattr(GRAPHS, n).nbytes for n in ("x", "edge_index", "row_ptr", "node_ptr", "batch", "pair", "y"))
    for free, chunked in ((2 * needed, False), (2 * needed - 1, True)):
        monkeypatch.setattr("nmrgcl.train.feed.choose.available_bytes", lambda device, free=free: free)
        assert fit(store, CPU) is not chunked
        assert fit(GRAPHS, CPU)  # They are already there.
    monkeypatch.setattr("nmrgcl.train.feed.choose.CHUNK_BYTES", needed // 5)
    assert usual_chunk(store) == 9  # A fifth of 50, less one because bytes are rounded down.
    options = TrainSettings(batch_size=4)
    assert isinstance(open_feed(store, CPU, options), Chunks)
    assert isinstance(open_feed(store, CPU, options, chunk=0), Resident)
    assert isinstance(open_feed(store, CPU, options, chunk=49), Resident)  # Whole batches cover everything.


class Poisoned(Trainable):
    """Its loss is NaN if a batch contains a graph without nodes."""

    level: Literal["graph", "node"] = "graph"

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        bad = bool((graphs.node_ptr.diff() == 0).any())
        yield self.weight * (float("nan") if bad else 1.0)


def test_a_batch_that_is_not_finite_is_named_by_the_numbers_of_the_dataset(store: Store) -> None:
    with pytest.raises(NonFiniteError) as caught:
        list(pretrain(Poisoned(), store, SETTINGS.train))
    named = caught.value.where["graphs"]
    assert len(named) == 4
    assert any(GRAPHS.sizes()[0][i] == 0 for i in named)


def test_a_damaged_store_ends_the_training_in_one_line(tmp_path: Path) -> None:
    write_store(tmp_path / "store", GRAPHS)
    path = tmp_path / "store" / "source.bin"
    values = np.fromfile(path, np.uint8)
    values[len(values) // 2] = 255
    values.tofile(path)
    with pytest.raises(DataError, match=r"source\.bin: impossible values; the store is damaged") as caught:
        train(open_store(tmp_path / "store"))
    assert "\n" not in str(caught.value)
