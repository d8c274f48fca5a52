"""How far a training has come, as a method sees it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Progress:
    """Where the training stands when a batch begins; by default at the only batch there is.

    Attributes:
        epoch: the running one; the first is 1.
        step: batches done in the whole training, 0 for the first one.
        epochs: how many there will be, unless the training stops early; the last one may be a part.
        steps: batches of the whole training.
    """

    epoch: int = 1
    step: int = 0
    epochs: int = 1
    steps: int = 1


StepWatch = Callable[[Progress, int], None]
"""Called after each batch with where the training stands then, and how many graphs or nodes the batch had."""


class Unreadable(Progress):
    """What a step is given while it is recorded: replays would repeat whatever it read here."""

    def __getattribute__(self, name: str) -> Any:
        if name in Progress.__dataclass_fields__:
            raise RuntimeError(f"the method reads progress.{name}, so it must say CAPTURABLE = False")
        return super().__getattribute__(name)
