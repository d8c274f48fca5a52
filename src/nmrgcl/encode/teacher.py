"""A network that follows another one slowly: a moving average of its weights, without a gradient."""

from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call


class Teacher(nn.Module):
    """Holds an average of a student's parameters and batch-norm statistics of its own; all are kept, none is trained.

    The statistics follow from what the teacher itself has seen, so that neither network changes the other's.
    """

    def __init__(self, student: nn.Module) -> None:
        super().__init__()
        for name, value in chain(student.named_parameters(), student.named_buffers()):
            self.register_buffer(_flat(name), value.detach().clone())

    def forward(self, student: nn.Module, *arguments: Any, **options: Any) -> Tensor:
        """What ``student`` would make of the arguments with these weights and statistics."""
        result: Tensor = functional_call(student, self.own(student), arguments, options)
        return result

    def own(self, student: nn.Module) -> dict[str, Tensor]:
        """Its weights and statistics by the names that ``student`` has for them."""
        names = (name for name, _ in chain(student.named_parameters(), student.named_buffers()))
        return {name: self.get_buffer(_flat(name)) for name in names}

    @torch.no_grad()
    def follow(self, student: nn.Module, momentum: float | Tensor) -> None:
        """Move a share of 1 − ``momentum``, a number or a scalar on the device, towards the student."""
        for name, parameter in student.named_parameters():
            self.get_buffer(_flat(name)).lerp_(parameter, 1 - momentum)


def _flat(name: str) -> str:
    return name.replace(".", "__")
