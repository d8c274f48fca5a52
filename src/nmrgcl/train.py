"""The pre-training loop, one for every method: a generator that yields after each epoch."""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from nmrgcl.batches import Batches, batches_of
from nmrgcl.capture import CapturedStep
from nmrgcl.checkpoint import Checkpoint
from nmrgcl.graphs import Graphs
from nmrgcl.settings import TrainSettings
from nmrgcl.step import GuardedStep, Trainable
from nmrgcl.training_state import TrainingState, own_chance, restore, snapshot


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
    """What one pass over the data came to; at node level the speed is that of nodes."""

    number: int
    loss: float
    seconds: float
    graphs_per_second: float


def pretrain(
    method: Trainable, graphs: Graphs, options: TrainSettings, *, seed: int = 0, memory: Memory | None = None
) -> Iterator[Epoch]:
    """Train ``method`` in place, yielding after each epoch; stop reading to stop training.

    Chance depends on ``seed`` and the epoch's number alone: what the caller does with random generators between epochs
    changes nothing here, and is not changed. With a ``memory`` that recalls a checkpoint the training goes on from
    there, in the middle of an epoch if need be, as if it had never stopped.
    """
    if options.epochs == 0:
        return
    feed = batches_of(graphs, options, method.level)
    on_gpu = graphs.device.type == "cuda"
    optimiser = torch.optim.Adam(method.parameters(), lr=options.lr, fused=True, capturable=on_gpu)
    kept = memory.recall() if memory else None
    state = (restore(kept, method, optimiser) if kept else TrainingState()).to(graphs.device)
    step = GuardedStep(method, optimiser, state)
    compute: Callable[[Tensor], None] | None = None
    while state.epoch < options.epochs and not (options.patience and state.idle_epochs >= options.patience):
        began = time.perf_counter()
        method.train()
        with own_chance(seed, state.epoch + 1, graphs.device), _numerics(options, graphs.device):
            parts = feed.cut()
            compute = compute or _computing(step, graphs, feed, options)
            state.recall_chance(graphs.device)
            loss = _run_epoch(step, compute, parts, options, memory)
        method.train(False)
        state.end_epoch(loss)
        seconds = time.perf_counter() - began
        yield Epoch(state.epoch, loss, seconds, feed.items / seconds)
        if memory and memory.due(epoch_ended=True):
            memory.keep(state.step, snapshot(state, method, optimiser, graphs.device))


def _run_epoch(
    step: GuardedStep,
    compute: Callable[[Tensor], None],
    parts: list[Tensor],
    options: TrainSettings,
    memory: Memory | None,
) -> float:
    """Mean loss of the batches ``parts``, from the one on at which the training stands."""
    state = step.state
    step.begin_epoch()
    for position in range(state.position, len(parts)):
        compute(parts[position])
        state.position, state.step = position + 1, state.step + 1
        due = memory is not None and memory.due(epoch_ended=False)
        if due or state.total.device.type == "cpu" or position + 1 == len(parts):
            step.check(parts, options)
        if memory is not None and due:
            memory.keep(state.step, snapshot(state, step.method, step.optimiser, state.total.device))
    return state.mean_loss


def _computing(step: GuardedStep, graphs: Graphs, feed: Batches, options: TrainSettings) -> Callable[[Tensor], None]:
    """What computes a batch: on a GPU a recording, for batches that are full."""

    def ordinary(index: Tensor) -> None:
        step(feed.take(index))

    recordable = options.capture and feed.padded and graphs.device.type == "cuda"
    if not recordable or graphs.num_graphs < options.batch_size:
        return ordinary
    step.first_bad.fill_(0.0)  # rehearsals change no weight
    kept = [*step.method.state_dict().values(), *step.state.sums]
    try:
        recorded = CapturedStep(graphs, options.batch_size, step, kept)
    except RuntimeError as error:  # a method that waits for the host cannot be recorded
        reason = str(error).partition("\n")[0]
        warnings.warn(f"steps are not recorded ({reason}); train.capture=false asks for that", stacklevel=2)
        return ordinary
    return lambda index: recorded(index) if len(index) == options.batch_size else ordinary(index)


@contextmanager
def _numerics(options: TrainSettings, device: torch.device) -> Iterator[None]:
    """Precision and determinism for the steps of one epoch; the process's own choices come back after."""
    tf32, strict = torch.backends.cuda.matmul.allow_tf32, torch.are_deterministic_algorithms_enabled()
    torch.backends.cuda.matmul.allow_tf32 = options.precision == "tf32"
    torch.use_deterministic_algorithms(options.deterministic or strict)
    try:
        with torch.autocast(device.type, torch.bfloat16, enabled=options.precision == "bf16"):
            yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.use_deterministic_algorithms(strict)
