"""The pre-training loop, one for every method: a generator that yields after each epoch."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from nmrgcl.errors import DataError, SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.settings import TrainSettings


class Trainable(Protocol):
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


@dataclass(frozen=True)
class Epoch:
    """What one pass over the data came to."""

    number: int
    loss: float
    seconds: float
    graphs_per_second: float


def pretrain(method: Trainable, graphs: Graphs, options: TrainSettings, *, seed: int = 0) -> Iterator[Epoch]:
    """Train ``method`` in place, yielding after each epoch; stop reading to stop training.

    Chance depends on ``seed`` and the epoch's number alone: what the caller does with torch's generator between
    epochs changes nothing here, and is not changed.
    """
    if options.epochs == 0:
        return
    if graphs.num_graphs < 2:
        raise DataError(f"contrast needs at least two graphs; the dataset has {graphs.num_graphs}")
    optimiser = torch.optim.Adam(method.parameters(), lr=options.lr, fused=True)
    best, best_number = float("inf"), 0
    for number in range(1, options.epochs + 1):
        began = time.perf_counter()
        method.train()
        with _own_chance(seed, number, graphs.device), _numerics(options, graphs.device):
            loss = float(_run_epoch(method, graphs, options.batch_size, optimiser))
        if not np.isfinite(loss):
            raise SettingError(f"the loss is {loss} in epoch {number}; lower train.lr (it is {options.lr})")
        method.train(False)
        seconds = time.perf_counter() - began
        yield Epoch(number, loss, seconds, graphs.num_graphs / seconds)
        if loss < best:
            best, best_number = loss, number
        if options.patience and number - best_number >= options.patience:
            return


def batches(num_graphs: int, batch_size: int) -> Iterator[Tensor]:
    """Random batches of graph numbers, on the host; a last batch of one graph, which has no negatives, is left out."""
    for part in torch.randperm(num_graphs).split(batch_size):
        if part.shape[0] > 1:
            yield part


def _run_epoch(method: Trainable, graphs: Graphs, batch_size: int, optimiser: torch.optim.Optimizer) -> Tensor:
    """Mean loss of the steps, still on the device."""
    total, steps = torch.zeros((), device=graphs.device), 0
    for index in batches(graphs.num_graphs, batch_size):
        for loss in method.losses(graphs.take(index)):
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            total += loss.detach()
            steps += 1
    return total / max(steps, 1)


@contextmanager
def _own_chance(seed: int, epoch: int, device: torch.device) -> Iterator[None]:
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(int(np.random.SeedSequence([seed, epoch]).generate_state(1, np.uint64)[0] >> 1))
        yield


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
