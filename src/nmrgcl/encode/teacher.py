"""A network whose weights are a moving average of another network's; it has no gradient."""

from itertools import chain
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.func import functional_call


class Teacher(nn.Module):
    """The average of a student's parameters, and batch-norm statistics of its own. All are buffers; none is trained.

    The statistics come from the teacher's own batches, so neither network changes the other's.

    Example:
        >>> import torch
        >>> from nmrgcl import Teacher
        >>> student = torch.nn.Linear(1, 1, bias=False)
        >>> _ = torch.nn.init.constant_(student.weight, 1.0)
        >>> teacher = Teacher(student)
        >>> _ = torch.nn.init.constant_(student.weight, 2.0)
        >>> teacher.follow(student, momentum=0.75)
        >>> teacher(student, torch.ones(1, 1))
        tensor([[1.2500]])
    """

    def __init__(self, student: nn.Module) -> None:
        super().__init__()
        for name, value in chain(student.named_parameters(), student.named_buffers()):
            self.register_buffer(_flat(name), value.detach().clone())

    def forward(self, student: nn.Module, *arguments: Any, **options: Any) -> Tensor:
        """The output of ``student`` for these arguments, computed with the teacher's weights and statistics."""
        result: Tensor = functional_call(student, self.own(student), arguments, options)
        return result

    def own(self, student: nn.Module) -> dict[str, Tensor]:
        """The teacher's weights and statistics, under their names in ``student``."""
        names = (name for name, _ in chain(student.named_parameters(), student.named_buffers()))
        return {name: self.get_buffer(_flat(name)) for name in names}

    @torch.no_grad()
    def follow(self, student: nn.Module, momentum: float | Tensor) -> None:
        """Move towards the student by 1 − ``momentum``, which is a number or a scalar tensor on the device."""
        for name, parameter in student.named_parameters():
            self.get_buffer(_flat(name)).lerp_(parameter, 1 - momentum)


def teach(student: nn.Module, *parts: str) -> nn.ModuleDict:
    """One teacher for each of the ``parts`` (submodules) of ``student``, by name."""
    return nn.ModuleDict({part: Teacher(student.get_submodule(part)) for part in parts})


def follow(teachers: nn.ModuleDict, student: nn.Module, momentum: float | Tensor) -> None:
    """Move each of the ``teachers`` by 1 − ``momentum`` towards the part of ``student`` that it is named after."""
    for part, teacher in teachers.items():
        cast("Teacher", teacher).follow(student.get_submodule(part), momentum)


def _flat(name: str) -> str:
    # The names of buffers must not contain dots.
    return name.replace(".", "__")
