"""Train several models at once, each on its own batches.

On a GPU, one step of all models is recorded as one CUDA graph with a parallel branch per model: the kernels of a single
small model would leave most of the device idle, and launching them would take longer than running them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Protocol

import torch
from torch import Tensor

from nmrgcl.adam import Adam
from nmrgcl.errors import DataError
from nmrgcl.evaluate.batches import batches_by_size, random_batches, room_by_size
from nmrgcl.graphs import Graphs, Room
from nmrgcl.train.recording import Recording, recorded_if_possible

DRAWS = 1000
"""How often to redraw the order of the training data until all batches fit into the recorded size."""


class Learner(Protocol):
    """A model in training; its methods must not synchronise with the host."""

    train: Tensor
    running: bool
    adam: Adam

    @property
    def changed(self) -> list[Tensor]:
        """The tensors that it modifies."""
        ...

    def learn(self, batch: Graphs) -> None:
        """Take one optimiser step."""
        ...

    def compare(self) -> None:
        """Evaluate the model at the end of an epoch."""
        ...


class Epochs:
    """Runs the epochs of all ``learners``.

    Args:
        learners: the models; batches are drawn from their ``train``, graph indices on the host.
        graphs: all graphs.
        y: labels of the graphs, class codes ``[B]`` or ``[B, T]``, which become part of the batches.
        batch_size: the number of graphs per step; 0: a step uses all of ``graphs``, and an epoch is one step.
        capture: on a GPU, record steps and replay them.
        by_size: whether each batch has one graph of each size class.
    """

    def __init__(
        self,
        learners: Sequence[Learner],
        graphs: Graphs,
        y: Tensor,
        batch_size: int,
        *,
        capture: bool,
        by_size: bool = False,
    ) -> None:
        self.learners, self.graphs, self.device, self.by_size = learners, graphs, graphs.device, by_size
        capture = capture and self.device.type == "cuda"
        # One recording holds a step of every learner, so all of them take equally many steps of the same size.
        fewest = min(len(one.train) for one in learners)
        self.batch_size = min(batch_size, fewest)
        self.steps = fewest // self.batch_size if batch_size else 1
        if batch_size:
            self.graphs = replace(graphs, y=y, y_level="graph")
            self.room = self._room() if capture else None
            where = self.device if capture else torch.device("cpu")
            # The graph indices for each step and learner, and the index of the next step.
            self.order = torch.zeros(self.steps, len(learners), self.batch_size, dtype=torch.long, device=where)
            self.place = torch.zeros(1, dtype=torch.long, device=where)
            nodes, edges = graphs.sizes()
            self.order.copy_((nodes + edges).argsort()[: self.batch_size])  # A batch that fits, for the warm-up.
        self.idle = torch.zeros((), device=self.device)  # If positive, optimisers change nothing, even in replays.
        if capture:
            for learner in learners:
                learner.adam.found_inf = self.idle  # type: ignore[attr-defined]
        self.streams = [torch.cuda.Stream(self.device) if capture else None for _ in learners]
        self.step, self.compare = (self._recorded(work) if capture else work for work in (self._step, self._compare))

    def run(self) -> None:
        """Run one epoch."""
        if self.batch_size:
            self._draw()
        for _ in range(self.steps):
            self.step()
        self.compare()

    def _step(self) -> None:
        """Take the next step of all learners that are still running."""
        index = self.order.index_select(0, self.place)[0] if self.batch_size else [None] * len(self.learners)
        with _joined(self.streams):
            for learner, own, stream in zip(self.learners, index, self.streams, strict=True):
                # A replay does not ask: a model that has ended trains on, but its best weights stay as they are.
                if learner.running:
                    with _branch(stream):
                        learner.learn(self._batch(own))
        if self.batch_size:
            self.place += 1

    def _batch(self, index: Tensor | None) -> Graphs:
        if index is None:
            return self.graphs
        return self.graphs.take(index) if self.room is None else self.graphs.take_padded(index, self.room)

    def _compare(self) -> None:
        with _joined(self.streams):
            for learner, stream in zip(self.learners, self.streams, strict=True):
                if learner.running:
                    with _branch(stream):
                        learner.compare()

    def _draw(self) -> None:
        """Draw the batches of an epoch."""
        self.order.copy_(torch.stack([self._drawn(one.train) for one in self.learners], 1))
        self.place.zero_()

    def _room(self) -> Room:
        """Room for the batches of all learners."""
        if not self.by_size:
            return self.graphs.room_for(self.batch_size)
        sizes = self.graphs.sizes()
        rooms = [room_by_size(one.train, *sizes, self.steps, self.batch_size) for one in self.learners]
        return Room(max(room.nodes for room in rooms), max(room.edges for room in rooms))

    def _drawn(self, train: Tensor) -> Tensor:
        """Random batches ``[steps, batch_size]`` of ``train``; for recorded steps, all of them must fit the room."""
        nodes, edges = self.graphs.sizes()
        if self.by_size:
            return batches_by_size(train, nodes + edges, self.steps, self.batch_size)
        for _ in range(DRAWS):
            order = random_batches(train, self.steps, self.batch_size)
            if self.room is None:
                return order
            if nodes[order].sum(1).max() <= self.room.nodes and edges[order].sum(1).max() <= self.room.edges:
                return order
        raise DataError("some graphs are too large for padded batches; set train.capture=false")

    def _recorded(self, work: Callable[[], None]) -> Callable[[], None]:
        """``work`` as a recording, or unchanged if it cannot be recorded."""
        changed = [tensor for one in self.learners for tensor in one.changed] + (
            [self.place] if self.batch_size else []
        )
        # The warm-up must not touch the moments of the optimisers, which the recording does not restore.
        self.idle.fill_(1.0)
        try:
            found = recorded_if_possible(lambda: Recording(work, changed, self.device))
        finally:
            self.idle.zero_()
        return work if found is None else found.replay


@contextmanager
def _branch(stream: torch.cuda.Stream | None) -> Iterator[None]:
    """Launch the work of the block on ``stream``, after everything launched before."""
    if stream is not None:
        stream.wait_stream(torch.cuda.current_stream())
    with nullcontext() if stream is None else torch.cuda.stream(stream):
        yield


@contextmanager
def _joined(streams: Iterable[torch.cuda.Stream | None]) -> Iterator[None]:
    """Make later work wait for the branches launched in the block."""
    yield
    for stream in streams:
        if stream is not None:
            torch.cuda.current_stream().wait_stream(stream)
