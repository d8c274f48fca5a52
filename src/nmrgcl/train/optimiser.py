"""Adam with a learning-rate schedule, weight decay and gradient clipping."""

import math
from typing import Literal, get_args

import torch
from torch.nn.utils import clip_grad_norm_
from torch.optim.optimizer import ParamsT

from nmrgcl.adam import Adam
from nmrgcl.errors import SettingError, nearest
from nmrgcl.train.progress import Progress

Schedule = Literal["constant", "linear", "cosine"]


class Optimiser:
    """The optimiser of one player; the schedule scales the learning rates of all its parameter groups.

    Args:
        parameters: parameters or parameter groups, as for ``torch.optim.Adam``.
        lr: the peak learning rate.
        schedule: how the learning rate falls after the warm-up: not at all, or to zero at the end of training.
        warmup: the fraction of all steps over which the learning rate rises linearly to ``lr``.
        weight_decay: decoupled weight decay, as in AdamW.
        clip: the maximum norm of the gradient of all parameters together; None: no clipping.

    Example:
        >>> import torch
        >>> from nmrgcl import Optimiser
        >>> weight = torch.nn.Parameter(torch.tensor([1.0]))
        >>> Optimiser([weight], lr=0.1, schedule="linear").factor(step=25, steps=100)  # of the learning rate
        0.75
    """

    def __init__(
        self,
        parameters: ParamsT,
        *,
        lr: float,
        schedule: Schedule = "constant",
        warmup: float = 0.0,
        weight_decay: float = 0.0,
        clip: float | None = None,
    ) -> None:
        _check(lr, schedule, warmup, weight_decay, clip)
        self.schedule, self.warmup, self.clip = schedule, warmup, clip
        self.adam = Adam(
            parameters, lr=lr, fused=True, weight_decay=weight_decay, decoupled_weight_decay=weight_decay > 0
        )
        groups = self.adam.param_groups
        self.rates = [group["lr"] for group in groups]
        self.parameters: list[torch.Tensor] = [p for group in groups for p in group["params"]]
        for group in groups:
            group["capturable"] = self.parameters[0].is_cuda
            if self.scheduled and group["capturable"]:  # As a tensor, it can change between replays of a recorded step.
                group["lr"] = torch.tensor(group["lr"], device=self.parameters[0].device)

    @property
    def scheduled(self) -> bool:
        """Whether the learning rate changes."""
        return self.schedule != "constant" or self.warmup > 0

    def set_rates(self, progress: Progress) -> None:
        """Set the learning rates for the step at this ``progress``."""
        if not self.scheduled:
            return
        factor = self.factor(progress.step, progress.steps)
        for group, rate in zip(self.adam.param_groups, self.rates, strict=True):
            if isinstance(group["lr"], torch.Tensor):
                group["lr"].fill_(rate * factor)
            else:
                group["lr"] = rate * factor

    def factor(self, step: int, steps: int) -> float:
        """The factor on ``lr`` at step number ``step`` (from 0) of ``steps``."""
        rising = round(self.warmup * steps)
        if step < rising:
            # Never 0, so that the first step counts, and below 1 until the warm-up is over.
            return (step + 1) / (rising + 1)
        done = (step - rising) / max(steps - rising, 1)
        if self.schedule == "linear":
            return 1 - done
        return (1 + math.cos(math.pi * done)) / 2 if self.schedule == "cosine" else 1.0

    def step(self) -> None:
        """Update the parameters with their current gradients."""
        if self.clip is not None:
            clip_grad_norm_(self.parameters, self.clip)
        self.adam.step()


def _check(lr: float, schedule: str, warmup: float, weight_decay: float, clip: float | None) -> None:
    if schedule not in get_args(Schedule):
        raise SettingError(f"unknown schedule {schedule!r}; {nearest(schedule, get_args(Schedule))}")
    if not 0 <= warmup < 1:
        raise SettingError(f"warmup = {warmup} is not a fraction of the training; use a number from 0 to below 1")
    if not 0 < lr < math.inf:
        raise SettingError(f"lr = {lr} is not a learning rate; use a number above 0")
    if not 0 <= weight_decay < math.inf:
        raise SettingError(f"weight_decay = {weight_decay} is not a weight decay; use 0 or a positive number")
    if clip is not None and not 0 < clip < math.inf:
        raise SettingError(f"clip = {clip} is not a gradient norm; use a number above 0, or None for no clipping")
