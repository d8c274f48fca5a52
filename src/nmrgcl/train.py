"""The pre-training loop, one for every method: a generator that yields after each epoch."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from nmrgcl.checkpoint import Checkpoint
from nmrgcl.errors import DataError, NonFiniteError
from nmrgcl.graphs import Graphs
from nmrgcl.settings import TrainSettings
from nmrgcl.training_state import Stateful, TrainingState, own_chance, restore, snapshot


class Trainable(Stateful, Protocol):
    """What the loop asks of a method."""

    def losses(self, graphs: Graphs) -> Iterator[Tensor]:
        """Yield the losses of one batch; the optimiser steps after each."""
        ...

    def parameters(self) -> Iterator[torch.nn.Parameter]:
        """Everything that is trained."""
        ...

    def train(self, mode: bool = True) -> object:
        """Switch to training (or evaluation)."""
        ...


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
    """What one pass over the data came to."""

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
    if graphs.num_graphs < 2:
        raise DataError(f"contrast needs at least two graphs; the dataset has {graphs.num_graphs}")
    optimiser = torch.optim.Adam(method.parameters(), lr=options.lr, fused=True)
    kept = memory.recall() if memory else None
    state = restore(kept, method, optimiser) if kept else TrainingState()
    while state.epoch < options.epochs and not (options.patience and state.idle_epochs >= options.patience):
        began = time.perf_counter()
        method.train()
        with own_chance(seed, state.epoch + 1, graphs.device), _numerics(options, graphs.device):
            loss = _run_epoch(method, graphs, options, optimiser, state, memory)
        method.train(False)
        state.end_epoch(loss)
        seconds = time.perf_counter() - began
        yield Epoch(state.epoch, loss, seconds, graphs.num_graphs / seconds)
        if memory and memory.due(epoch_ended=True):
            memory.keep(state.step, snapshot(state, method, optimiser, graphs.device))


def batches(num_graphs: int, batch_size: int) -> Iterator[Tensor]:
    """Random batches of graph numbers, on the host; a last batch of one graph, which has no negatives, is left out."""
    for part in torch.randperm(num_graphs).split(batch_size):
        if part.shape[0] > 1:
            yield part


def _run_epoch(
    method: Trainable,
    graphs: Graphs,
    options: TrainSettings,
    optimiser: torch.optim.Optimizer,
    state: TrainingState,
    memory: Memory | None,
) -> float:
    """Mean loss of the steps, from the batch on at which ``state`` stands."""
    guard = Guard(method, optimiser, graphs.device)
    parts = list(batches(graphs.num_graphs, options.batch_size))
    state.enter_epoch(graphs.device)
    for position in range(state.position, len(parts)):
        for loss in method.losses(graphs.take(parts[position])):
            optimiser.zero_grad()
            loss.backward()
            guard.step(loss, position)
            state.add(loss)
        state.position, state.step = position + 1, state.step + 1
        due = memory is not None and memory.due(epoch_ended=False)
        if due or graphs.device.type == "cpu" or position + 1 == len(parts):
            guard.check(state.epoch + 1, parts, options)
        if memory is not None and due:
            memory.keep(state.step, snapshot(state, method, optimiser, graphs.device))
    return state.mean_loss


class Guard:
    """Optimiser steps that stop for good, on the device itself, at the first loss or gradient that is not finite.

    The host need not wait for the answer: it is asked for only now and then.
    """

    def __init__(self, method: Trainable, optimiser: torch.optim.Optimizer, device: torch.device) -> None:
        self.parameters = list(method.parameters())
        self.optimiser = optimiser
        self.first_bad = torch.full((), -1.0, device=device)

    def step(self, loss: Tensor, position: int) -> None:
        """Step, unless this or an earlier batch of the epoch was bad; ``position`` is the batch's."""
        gradients = [p.grad for p in self.parameters if p.grad is not None]
        # The largest entry, because a sum of squares overflows for gradients that are finite.
        largest = torch.nn.utils.get_total_norm(gradients, float("inf"))
        bad = ~torch.isfinite(loss.detach() + largest)
        self.first_bad = torch.where(bad & (self.first_bad < 0), position, self.first_bad)
        self.optimiser.found_inf = (self.first_bad >= 0).float()  # type: ignore[attr-defined]
        self.optimiser.step()

    def check(self, epoch: int, parts: list[Tensor], options: TrainSettings) -> None:
        """Wait for the device, and raise if a batch was bad."""
        position = int(self.first_bad)
        if position < 0:
            return
        hint = f"lower train.lr (it is {options.lr})"
        if options.precision == "bf16":
            hint = "use train.precision=float32"
        raise NonFiniteError(
            f"the loss or a gradient is not finite in epoch {epoch}, batch {position + 1}; {hint}",
            epoch=epoch,
            batch=position + 1,
            graphs=parts[position].tolist(),
        )


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
