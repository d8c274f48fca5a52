"""The pre-training loop for all methods: a generator that yields after each epoch."""

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
    """Stores the checkpoints of a training. The loop calls it between batches; it may raise to end the training."""

    def recall(self) -> Checkpoint | None:
        """The checkpoint to continue from, if there is one."""
        ...

    def due(self, *, epoch_ended: bool) -> bool:
        """Whether to store a checkpoint now."""
        ...

    def keep(self, step: int, checkpoint: Checkpoint) -> None:
        """Store a checkpoint; ``step`` counts the batches of the whole training."""
        ...


@dataclass(frozen=True)
class Epoch:
    """Summary of one pass over the data; at node level, the speed is in nodes per second.

    The ``last`` epoch of a training may be cut short by a limit on the number of steps.
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
    """Train ``method`` in place and yield after each epoch; stop iterating to stop training.

    Random numbers depend only on ``seed`` and the number of the epoch: the caller's use of random generators between
    epochs neither affects training nor is affected by it. If ``memory`` recalls a checkpoint, training continues from
    there, even in the middle of an epoch, exactly as if it had never stopped.

    ``device`` is the device of the method; the default is the device of the graphs. Graphs that do not fit on it are
    trained on in chunks, as ``options.chunk_graphs`` says. A ``Fittable`` fits all graphs at once, without epochs.
    ``watch`` is called after every batch; on a GPU the batch has then been launched but not necessarily computed.
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
    # The order of batches depends on the chunk size, so a resumed training keeps the one it started with.
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
    """Run epochs until there are enough of them or the loss no longer falls."""
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
    if state.position:  # An interrupted epoch must be completed, even if its last batch is done.
        return False
    enough = state.step >= options.steps if options.steps else state.epoch >= options.epochs
    return enough or bool(options.patience and state.idle_epochs >= options.patience)


def _batches(feed: Feed, parts: list[Tensor]) -> Iterator[Graphs]:
    """The batches of an epoch; nothing is read before the first one is requested."""
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
    """Train on the remaining batches of the epoch, or up to the step limit, and return their mean loss."""
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
        if due or feed.device.type == "cpu" or position + 1 == count:  # On a GPU, each check waits for the device.
            step.check(feed.parts, options)
        if memory is not None and due:
            memory.keep(state.step, snapshot(state, step.method, step.optimisers, feed.device))
    return state.mean_loss


def _computing(step: GuardedStep, feed: Feed, options: TrainSettings) -> Callable[[Graphs, Tensor], None]:
    """The function that trains on a batch: on a GPU a recorded step, unless the method or the options rule it out."""

    def ordinary(graphs: Graphs, index: Tensor) -> None:
        step(feed.take(graphs, index))

    if not (options.capture and step.method.capturable) or not (feed.padded or feed.constant):
        return ordinary
    if feed.device.type != "cuda":
        return ordinary
    step.rehearse()
    return recorded_if_possible(lambda: _recorded(step, feed, options)) or ordinary


def _recorded(step: GuardedStep, feed: Feed, options: TrainSettings) -> Callable[[Graphs, Tensor], None]:
    """One recording for full batches and one for the remainder, or a single one if every batch is the whole graph."""
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
    """Set precision and determinism for the steps of one epoch, and restore the previous choices afterwards."""
    tf32, strict = torch.backends.cuda.matmul.allow_tf32, torch.are_deterministic_algorithms_enabled()
    torch.backends.cuda.matmul.allow_tf32 = options.precision in ("tf32", "bf16")
    torch.use_deterministic_algorithms(options.deterministic or strict)
    try:
        with torch.autocast(device.type, torch.bfloat16, enabled=options.precision == "bf16"):
            yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.use_deterministic_algorithms(strict)
