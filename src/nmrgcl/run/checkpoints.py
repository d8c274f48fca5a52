"""What is kept of trainings: checkpoints of one that is under way, and the weights of one that other cells share."""

import json
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from nmrgcl import atomic
from nmrgcl.errors import ModelError
from nmrgcl.methods import Method
from nmrgcl.run.cell import Cell
from nmrgcl.run.interrupt import Signals
from nmrgcl.run.results import token_of
from nmrgcl.train.checkpoint import Checkpoint, newest_checkpoint, write_checkpoint

_METRICS, _TIMINGS = ("epoch", "loss", "effective_rank"), ("seconds", "judging")
"""What is computed with later: numbers, where they are there."""


@dataclass(frozen=True)
class Cadence:
    """A checkpoint every so many epochs, batches and minutes, whichever comes first; 0 is never."""

    epochs: int = 0
    steps: int = 0
    minutes: float = 5.0


class RunMemory:
    """Checkpoints of one training in ``folder``; a signal makes one due at once and then ends the training.

    The lines of ``metrics`` and ``timings`` travel inside the checkpoint, so that they cannot disagree with it.
    Unfinished files carry the ``token``, so that the next process can remove them.
    """

    def __init__(self, folder: Path, cadence: Cadence, signals: Signals, token: str) -> None:
        self.folder, self.cadence, self.signals, self.token = folder, cadence, signals, token
        self.metrics: list[str] = []
        self.timings: list[str] = []
        self.epochs = self.steps = 0
        self.last = time.monotonic()

    def recall(self) -> Checkpoint | None:
        """The newest checkpoint that is whole; those that are not are named on standard error."""
        atomic.remove_strays(self.folder, self.token)
        found, problems = newest_checkpoint(self.folder)
        for problem in problems:
            print(f"nmrgcl: {problem}; the one before is used", file=sys.stderr)
        if found is not None:
            metrics, timings = (cast(list[str], found.values.get(name)) for name in ("metrics", "timings"))
            if not _fit(metrics, found.values.get("epoch"), _METRICS) or not _fit(timings, len(metrics), _TIMINGS):
                raise ModelError(f"{self.folder}: a checkpoint without its metrics; remove the folder to start again")
            self.metrics, self.timings = metrics, timings
        return found

    def due(self, *, epoch_ended: bool) -> bool:
        """Whether the cadence or a signal asks for one."""
        self.epochs += epoch_ended
        self.steps += not epoch_ended
        cadence = self.cadence
        return (
            self.signals.received is not None
            or (epoch_ended and 0 < cadence.epochs <= self.epochs)
            or (not epoch_ended and 0 < cadence.steps <= self.steps)
            or 0 < cadence.minutes * 60 <= time.monotonic() - self.last
        )

    def keep(self, step: int, checkpoint: Checkpoint) -> None:
        """Write it; after a signal the training ends here."""
        values = checkpoint.values | {"metrics": self.metrics, "timings": self.timings}
        write_checkpoint(self.folder, step, replace(checkpoint, values=values), self.token)
        self.epochs = self.steps = 0
        self.last = time.monotonic()
        self.signals.obey()


def _fit(lines: Any, epochs: Any, numbers: tuple[str, ...]) -> bool:
    """Whether these are the lines of so many epochs: JSON objects in which these names have numbers."""
    if not isinstance(lines, list) or len(lines) != epochs:
        return False
    try:
        parsed = [json.loads(line) for line in lines]
    except (TypeError, ValueError, RecursionError):
        return False
    return all(
        isinstance(line, dict)
        and numbers[0] in line
        and ("effective_rank" in line) <= ("collapse" in line)
        and all(type(line[name]) in (int, float) for name in numbers if name in line)
        for line in parsed
    )


@dataclass(frozen=True)
class Trained:
    """Who trained, and what was noted of each epoch."""

    by: str
    metrics: list[str]


def keep_training(folder: Path, cell: Cell, method: Method, metrics: list[str]) -> None:
    """Leave the weights in ``folder`` if the engine made the folder above it, because other cells wait for them."""
    if folder.parent.is_dir():
        weights = Checkpoint(method.state_dict(), {"by": cell.key, "metrics": metrics})
        write_checkpoint(folder, len(metrics), weights, token_of(cell.training))


def take_training(folder: Path, cell: Cell, method: Method) -> Trained | None:
    """Give ``method`` the weights in ``folder``; None where there are none that ``cell`` could use."""
    if cell.selection == "paper":
        return None
    found, problems = newest_checkpoint(folder)
    for problem in problems:
        print(f"nmrgcl: {problem}; the cell is trained again", file=sys.stderr)
    if found is None:
        return None
    try:
        metrics = [json.dumps(json.loads(line)) for line in found.values["metrics"]]
        method.load_state_dict(found.tensors)
        return Trained(str(found.values["by"]), metrics)
    except (KeyError, TypeError, ValueError, RuntimeError):
        raise ModelError(f"{folder}: not the weights of this training; remove the folder to train again") from None
