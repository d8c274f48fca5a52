"""The progress of a training, as a method sees it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Progress:
    """The progress at the start of a batch; the defaults describe a training with a single batch.

    Attributes:
        epoch: the current epoch, from 1.
        step: the number of batches done in the whole training.
        epochs: the number of epochs, unless training stops early; the last one may be incomplete.
        steps: the number of batches of the whole training.

    Example:
        >>> from nmrgcl import Progress
        >>> progress = Progress(epoch=2, step=30, epochs=10, steps=150)
        >>> progress.step / progress.steps  # how much of the training is done
        0.2
    """

    epoch: int = 1
    step: int = 0
    epochs: int = 1
    steps: int = 1


StepWatch = Callable[[Progress, int], None]
"""Called after each batch with the progress and the number of graphs or nodes in the batch."""


class Unreadable(Progress):
    """The progress passed to a step while it is recorded; it cannot be read, since replays would repeat its values."""

    def __getattribute__(self, name: str) -> Any:
        if name in Progress.__dataclass_fields__:
            raise RuntimeError(f"the method reads progress.{name}, so it must say CAPTURABLE = False")
        return super().__getattribute__(name)
