"""The share of its weights that a teacher keeps at each training step."""

import math

import torch
from torch import Tensor, nn


class Momentum(nn.Module):
    """1 − (1 − ``base``)(1 + cos(π k / K)) / 2 at step k of K: from ``base`` to 1 (Grill et al. 2020).

    Steps are counted on the device. Otherwise a recorded step would always use the momentum it was recorded with.
    """

    step: Tensor
    steps: Tensor

    def __init__(self, base: float) -> None:
        super().__init__()
        self.base = base
        self.register_buffer("step", torch.zeros(()))
        self.register_buffer("steps", torch.ones(()))

    def count(self, step: int, steps: int) -> None:
        """Continue from step ``step`` (counted from 0) of ``steps``."""
        self.step.fill_(step)
        self.steps.fill_(steps)

    @torch.no_grad()
    def forward(self) -> Tensor:
        """The momentum of this step, a scalar; each call counts one step."""
        moved = (1 - self.base) * (1 + torch.cos(math.pi * self.step / self.steps)) / 2
        self.step.add_(1)
        return 1 - moved
