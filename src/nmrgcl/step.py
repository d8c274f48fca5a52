"""One optimiser step after another, until a number is not finite."""

import math
from collections.abc import Iterator
from typing import Literal, Protocol

import torch
from torch import Tensor

from nmrgcl.errors import NonFiniteError
from nmrgcl.graphs import Graphs
from nmrgcl.settings import TrainSettings
from nmrgcl.training_state import Stateful, TrainingState


class Trainable(Stateful, Protocol):
    """What the loop asks of a method, which embeds graphs or the nodes of one (``level``)."""

    level: Literal["graph", "node"]

    def losses(self, graphs: Graphs) -> Iterator[Tensor]:
        """Yield the losses of one batch; the optimiser steps after each."""
        ...

    def parameters(self) -> Iterator[torch.nn.Parameter]:
        """Everything that is trained."""
        ...

    def train(self, mode: bool = True) -> object:
        """Switch to training (or evaluation)."""
        ...


class GuardedStep:
    """Losses of a batch, their gradients, and Adam's steps, which stop for good at the first that is not finite.

    That is decided on the device, so that the host need not wait: it asks only now and then. Everything that is kept
    from batch to batch is updated in place, so that a step can be recorded and replayed.
    """

    def __init__(self, method: Trainable, optimiser: torch.optim.Optimizer, state: TrainingState) -> None:
        self.method, self.optimiser, self.state = method, optimiser, state
        self.parameters = list(method.parameters())
        self.batch = torch.zeros_like(state.total)
        self.first_bad = torch.full_like(state.total, -1.0)

    def begin_epoch(self) -> None:
        """Count the batches of another epoch, from the one on at which the training stands."""
        self.batch.fill_(self.state.position)
        self.first_bad.fill_(-1.0)

    def __call__(self, graphs: Graphs) -> None:
        """Train on one batch."""
        for loss in self.method.losses(graphs):
            self.optimiser.zero_grad()
            loss.backward()
            values = [loss.detach(), *(p.grad for p in self.parameters if p.grad is not None)]
            # A sum that is finite has finite terms; asking is cheap where the host computes anyway.
            if loss.is_cuda or not math.isfinite(sum(float(value.sum()) for value in values)):
                self._decide(values)
            self.optimiser.step()
            self.state.total.add_(loss.detach())
            self.state.losses.add_(1)
        self.batch.add_(1)

    def _decide(self, values: list[Tensor]) -> None:
        """Tell the optimiser, on the device, whether to step; once it was told not to, that stays so."""
        # The largest entry, because a sum of squares overflows for values that are finite.
        bad = ~torch.isfinite(torch.nn.utils.get_total_norm(values, float("inf")))
        self.first_bad.copy_(torch.where(bad & (self.first_bad < 0), self.batch, self.first_bad))
        self.optimiser.found_inf = (self.first_bad >= 0).float()  # type: ignore[attr-defined]

    def check(self, parts: list[Tensor], options: TrainSettings) -> None:
        """Wait for the device, and raise if one of the batches ``parts`` was bad."""
        position = int(self.first_bad)
        if position < 0:
            return
        hint = f"lower train.lr (it is {options.lr})"
        if options.precision == "bf16":
            hint = "use train.precision=float32"
        epoch = self.state.epoch + 1
        raise NonFiniteError(
            f"the loss or a gradient is not finite in epoch {epoch}, batch {position + 1}; {hint}",
            epoch=epoch,
            batch=position + 1,
            graphs=parts[position].tolist(),
        )
