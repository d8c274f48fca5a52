"""A network that follows another one slowly: a moving average of its weights, without a gradient."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call


class Teacher(nn.Module):
    """Holds an average of a student's parameters; as buffers, so that they are kept but not trained."""

    def __init__(self, student: nn.Module) -> None:
        super().__init__()
        for name, parameter in student.named_parameters():
            self.register_buffer(_flat(name), parameter.detach().clone())

    def forward(self, student: nn.Module, *arguments: Any, **options: Any) -> Tensor:
        """What ``student`` would make of the arguments with these weights."""
        weights = {name: self.get_buffer(_flat(name)) for name, _ in student.named_parameters()}
        result: Tensor = functional_call(student, weights, arguments, options)
        return result

    @torch.no_grad()
    def follow(self, student: nn.Module, momentum: float) -> None:
        """Move a share of 1 − ``momentum`` towards the student."""
        for name, parameter in student.named_parameters():
            self.get_buffer(_flat(name)).lerp_(parameter, 1 - momentum)


def _flat(name: str) -> str:
    return name.replace(".", "__")
