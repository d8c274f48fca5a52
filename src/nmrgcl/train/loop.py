"""The pre-training loop, one for every method: a generator that yields after each epoch."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor

from nmrgcl.errors import ModelError
from nmrgcl.graphs import Graphs
from nmrgcl.settings import TrainSettings
from nmrgcl.train.checkpoint import Checkpoint
from nmrgcl.train.feed import Feed, Source, open_feed
from nmrgcl.train.progress import StepWatch
from nmrgcl.train.recording import CapturedStep, Recording, captured_by_size, recorded_if_possible
from nmrgcl.train.state import TrainingState, own_chance, restore, snapshot
from nmrgcl.train.step import GuardedStep
from nmrgcl.train.trainable import Fittable, Trainable


class Memory(Protocol):
    """What remembers a training. It is asked between batches, and may raise to end the training there."""

    def recall(self) -> Checkpoint | None:
        """What to go on from, if anything."""
        ...

    def due(self, *, epoch_ended: bool) -> bool:
        """Whether to keep a checkpoint now."""
        ...

    def keep(self, step: int, checkpoint: Checkpoint) -> None:
        """Keep it; ``step`` counts the batches of the whole training."""
        ...


@dataclass(frozen=True)
class Epoch:
    """What one pass over the data came to; at node level the speed is that of nodes.

    The ``last`` one, after which the training ends, may be a part of a pass.
    """

    number: int
    loss: float
    seconds: float
    graphs_per_second: float
    last: bool = False


def pretrain(
    method: Trainable | Fittable,
    graphs: Graphs | Source,
    options: TrainSettings,
    *,
    device: torch.device | None = None,
    seed: int = 0,
    memory: Memory | None = None,
    watch: StepWatch | None = None,
) -> Iterator[Epoch]:
    """Train ``method`` in place, yielding after each epoch; stop reading to stop training.

    Chance depends on ``seed`` and the epoch's number alone: what the caller does with random generators between epochs
    changes nothing here, and is not changed. With a ``memory`` that recalls a checkpoint the training goes on from
    there, in the middle of an epoch if need be, as if it had never stopped.

    ``device`` is where the method is; without it, where the graphs are. Those that do not fit there pass through it in
    chunks, as ``options.chunk_graphs`` says. A method that fits all graphs at once does so, and has no epochs.
    ``watch`` is called after every batch; on a GPU it has been launched then, but need not have been computed.
    """
    if isinstance(method, Fittable):
        _fit(method, graphs, device, seed)
        return
    if options.epochs == 0:
        return
    method.require_sizes(*graphs.sizes())
    device = device or (graphs.device if isinstance(graphs, Graphs) else torch.device("cpu"))
    optimisers = method.optimisers(options)
    checkpoint = memory.recall() if memory else None
    state = (restore(checkpoint, method, optimisers) if checkpoint else TrainingState()).to(device)
    step = GuardedStep(method, optimisers, state)
    # The order of batches depends on the chunks, so that a training that goes on keeps to those it began with.
    chunk = state.chunk if checkpoint else options.chunk_graphs or None
    with closing(open_feed(graphs, device, options, method.level, chunk)) as feed:
        state.chunk = feed.chunk
        for epoch in _epochs(step, feed, options, seed, memory, watch):
            yield epoch
            if memory and memory.due(epoch_ended=True):
                memory.keep(state.step, snapshot(state, method, optimisers, device))


def _fit(method: Fittable, graphs: Graphs | Source, device: torch.device | None, seed: int) -> None:
    whole = graphs if isinstance(graphs, Graphs) else graphs.take(torch.arange(len(graphs)))
    whole = whole.to(device) if device else whole
    with own_chance(seed, 0, whole.device):
        method.fit(whole)


def _epochs(
    step: GuardedStep, feed: Feed, options: TrainSettings, seed: int, memory: Memory | None, watch: StepWatch | None
) -> Iterator[Epoch]:
    """One after another, until there are enough or the loss no longer falls."""
    state, compute = step.state, None
    while not _ended(state, options):
        began, first = time.perf_counter(), state.step
        step.method.train()
        with own_chance(seed, state.epoch + 1, feed.device), _numerics(options, feed.device):
            parts = feed.cut()
            if state.position > len(parts):
                raise ModelError(f"the checkpoint is at batch {state.position} of {len(parts)}; start the run again")
            if state.position == 0:
                step.survey(options, _batches(feed, parts), len(parts))
            feed.begin(parts, state.position)
            compute = compute or _computing(step, feed, options)
            state.recall_chance(feed.device)
            loss = _run_epoch(step, compute, feed, options, memory, watch)
        step.method.train(False)
        state.end_epoch(loss, options.least_gain)
        seconds = time.perf_counter() - began
        done = feed.items * (state.step - first) / len(parts)
        yield Epoch(state.epoch, loss, seconds, done / seconds, last=_ended(state, options))


def _ended(state: TrainingState, options: TrainSettings) -> bool:
    """Whether there were enough batches or epochs, or the loss no longer falls."""
    if state.position:  # in an epoch that was interrupted, maybe after its last batch
        return False
    enough = state.step >= options.steps if options.steps else state.epoch >= options.epochs
    return enough or bool(options.patience and state.idle_epochs >= options.patience)


def _batches(feed: Feed, parts: list[Tensor]) -> Iterator[Graphs]:
    """The batches of an epoch; nothing is read before the first of them is asked for."""
    feed.begin(parts, 0)
    for position in range(len(parts)):
        yield feed.take(*feed.batch(position))


def _run_epoch(
    step: GuardedStep,
    compute: Callable[[Graphs, Tensor], None],
    feed: Feed,
    options: TrainSettings,
    memory: Memory | None,
    watch: StepWatch | None,
) -> float:
    """Mean loss of the batches of ``feed``, from the one on at which the training stands, to the training's last."""
    state, count = step.state, len(feed.parts)
    step.begin_epoch(options, count)
    items = feed.items // count
    if options.steps:
        count = min(count, state.position + options.steps - state.step)
    for position in range(state.position, count):
        step.begin_batch()
        compute(*feed.batch(position))
        state.position, state.step = position + 1, state.step + 1
        if watch is not None:
            watch(replace(step.progress, step=state.step), items)
        due = memory is not None and memory.due(epoch_ended=False)
        if due or feed.device.type == "cpu" or position + 1 == count:
            step.check(feed.parts, options)
        if memory is not None and due:
            memory.keep(state.step, snapshot(state, step.method, step.optimisers, feed.device))
    return state.mean_loss


def _computing(step: GuardedStep, feed: Feed, options: TrainSettings) -> Callable[[Graphs, Tensor], None]:
    """What computes a batch: on a GPU a recording, unless the method or the options rule it out."""

    def ordinary(graphs: Graphs, index: Tensor) -> None:
        step(feed.take(graphs, index))

    if not (options.capture and step.method.capturable) or not (feed.padded or feed.constant):
        return ordinary
    if feed.device.type != "cuda":
        return ordinary
    step.rehearse()
    return recorded_if_possible(lambda: _recorded(step, feed, options)) or ordinary


def _recorded(step: GuardedStep, feed: Feed, options: TrainSettings) -> Callable[[Graphs, Tensor], None]:
    """One recording for batches that are full and one for what is left over; or one for the batch that is always it."""
    changed = [*step.method.state_dict().values(), *step.state.sums]
    if feed.constant:
        recording = Recording(lambda: step(feed.lasting()), changed, feed.device)
        return lambda graphs, index: recording.replay()
    sizes = {min(options.batch_size, feed.items), feed.items % options.batch_size} - {0, 1}
    recorded = captured_by_size(
        sizes, lambda size, beside: CapturedStep(feed.lasting(), size, step, changed, feed.room(size), beside)
    )
    return lambda graphs, index: recorded[len(index)](index, graphs)


@contextmanager
def _numerics(options: TrainSettings, device: torch.device) -> Iterator[None]:
    """Precision and determinism for the steps of one epoch; the process's own choices come back after."""
    tf32, strict = torch.backends.cuda.matmul.allow_tf32, torch.are_deterministic_algorithms_enabled()
    torch.backends.cuda.matmul.allow_tf32 = options.precision in ("tf32", "bf16")
    torch.use_deterministic_algorithms(options.deterministic or strict)
    try:
        with torch.autocast(device.type, torch.bfloat16, enabled=options.precision == "bf16"):
            yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.use_deterministic_algorithms(strict)
