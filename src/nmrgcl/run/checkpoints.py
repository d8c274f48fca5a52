"""Checkpoints of a training that is under way, and the final weights of a training that several cells share."""

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
"""The fields of a line that are used in later computations; they must be numbers if they are present."""


@dataclass(frozen=True)
class Cadence:
    """How often to write a checkpoint: after so many epochs, steps or minutes, whichever comes first; 0 means never."""

    epochs: int = 0
    steps: int = 0
    minutes: float = 5.0


class RunMemory:
    """The checkpoints of one training in ``folder``; a signal makes one due at once and then ends the training.

    The lines of ``metrics`` and ``timings`` are stored inside the checkpoint, so they always agree with the weights.
    The names of unfinished files contain ``token``, by which the next process recognises and removes them.
    """

    def __init__(self, folder: Path, cadence: Cadence, signals: Signals, token: str) -> None:
        self.folder, self.cadence, self.signals, self.token = folder, cadence, signals, token
        self.metrics: list[str] = []
        self.timings: list[str] = []
        self.epochs = self.steps = 0
        self.last = time.monotonic()

    def recall(self) -> Checkpoint | None:
        """The newest intact checkpoint; damaged ones are reported on standard error."""
        atomic.remove_strays(self.folder, self.token)
        found, problems = newest_checkpoint(self.folder)
        for problem in problems:
            print(f"nmrgcl: {problem}; using the previous checkpoint", file=sys.stderr)
        if found is not None:
            metrics, timings = (cast(list[str], found.values.get(name)) for name in ("metrics", "timings"))
            if not _fit(metrics, found.values.get("epoch"), _METRICS) or not _fit(timings, len(metrics), _TIMINGS):
                raise ModelError(f"{self.folder}: a checkpoint lacks its metrics; remove the folder to start again")
            self.metrics, self.timings = metrics, timings
        return found

    def due(self, *, epoch_ended: bool) -> bool:
        """Whether the cadence or a signal asks for a checkpoint now."""
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
        """Write a checkpoint; if a signal was received, the training ends here."""
        values = checkpoint.values | {"metrics": self.metrics, "timings": self.timings}
        write_checkpoint(self.folder, step, replace(checkpoint, values=values), self.token)
        self.epochs = self.steps = 0
        self.last = time.monotonic()
        # Only after the checkpoint is on disk, because this ends the training.
        self.signals.obey()


def _fit(lines: Any, epochs: Any, numbers: tuple[str, ...]) -> bool:
    """Whether ``lines`` holds one JSON object per epoch, with numbers where the fields ``numbers`` are present."""
    if not isinstance(lines, list) or len(lines) != epochs:
        return False
    try:
        parsed = [json.loads(line) for line in lines]
    except (TypeError, ValueError, RecursionError):
        return False
    return all(
        isinstance(line, dict)
        and numbers[0] in line
        # Measures are recorded together, and the warning about collapse reads both.
        and ("effective_rank" in line) <= ("collapse" in line)
        and all(type(line[name]) in (int, float) for name in numbers if name in line)
        for line in parsed
    )


@dataclass(frozen=True)
class Trained:
    """The key of the cell that trained, and the metrics of each epoch."""

    by: str
    metrics: list[str]


def keep_training(folder: Path, cell: Cell, method: Method, metrics: list[str]) -> None:
    """Save the weights in ``folder`` if its parent exists: the engine creates it when other cells wait for them."""
    if folder.parent.is_dir():
        weights = Checkpoint(method.state_dict(), {"by": cell.key, "metrics": metrics})
        write_checkpoint(folder, len(metrics), weights, token_of(cell.training))


def take_training(folder: Path, cell: Cell, method: Method) -> Trained | None:
    """Load the weights in ``folder`` into ``method``; return None if there are none that ``cell`` can use."""
    # Selection "paper" needs the scores of many epochs, but only the final weights are kept.
    if cell.selection == "paper":
        return None
    found, problems = newest_checkpoint(folder)
    for problem in problems:
        print(f"nmrgcl: {problem}; training the cell again", file=sys.stderr)
    if found is None:
        return None
    try:
        # Parsing each line refuses a checkpoint in which they are not JSON.
        metrics = [json.dumps(json.loads(line)) for line in found.values["metrics"]]
        method.load_state_dict(found.tensors)
        return Trained(str(found.values["by"]), metrics)
    except (KeyError, TypeError, ValueError, RuntimeError):
        raise ModelError(f"{folder}: holds weights of another training; remove the folder to train again") from None
