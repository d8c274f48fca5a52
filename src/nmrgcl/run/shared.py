"""One training for cells that differ only in how they are judged.

The engine has one of them computed first, and makes a folder for its training. A cell that finds this folder when it
has trained leaves its weights there, and the others, which come as soon as these are there, take them. Where there are
none, or damaged ones, a cell trains for itself: sharing saves time and changes nothing else.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from nmrgcl.errors import ModelError
from nmrgcl.methods import Method
from nmrgcl.run.cell import Run
from nmrgcl.run.results import Results, token_of
from nmrgcl.train.checkpoint import CHECKPOINTS, Checkpoint, newest_checkpoint, write_checkpoint


@dataclass(frozen=True)
class Trained:
    """Who trained, and what was noted of each epoch."""

    by: str
    metrics: list[str]


def in_turn(cells: Iterable[Run]) -> tuple[list[Run], list[Run]]:
    """Cells that train, and those that take what one of the first has trained.

    Selection "paper" judges during the training, so that such a cell trains itself, and others follow it.
    """
    cells = list(cells)
    leaders = {cell.training: cell.key for cell in reversed(cells)}
    leaders |= {cell.training: cell.key for cell in cells if cell.selection == "paper"}
    first = [cell for cell in cells if cell.selection == "paper" or leaders[cell.training] == cell.key]
    keys = {cell.key for cell in first}
    return first, [cell for cell in cells if cell.key not in keys]


def soonest(leaders: Iterable[Run], followers: Iterable[Run], results: Results) -> Iterator[Run]:
    """All leaders and, as soon as their training is there, followers; those whose training never comes are left out.

    What is there is looked up whenever another cell is asked for, so that a table that ends early has whole rows.
    """
    waiting: dict[str, list[Run]] = {}
    for cell in followers:
        waiting.setdefault(cell.training, []).append(cell)

    def ready() -> Iterator[Run]:
        for training in [one for one in waiting if any(results.trained(one).glob(f"*/{CHECKPOINTS}"))]:
            yield from waiting.pop(training)

    for leader in leaders:
        yield from ready()
        yield leader
    yield from ready()


class SharedTrainings:
    """What the engine knows: which cells still wait for a training; it is removed when none does, or kept for later."""

    def __init__(self, results: Results, cells: Iterable[Run], *, keep: bool = False) -> None:
        self.results, self.keep = results, keep
        self.waiting: dict[str, set[str]] = {}
        for cell in cells:
            self.waiting.setdefault(cell.training, set()).add(cell.key)

    def begin(self, followers: Iterable[Run]) -> None:
        """Have the trainings of these cells kept."""
        for cell in followers:
            self.results.trained(cell.training).mkdir(parents=True, exist_ok=True)

    def done(self, cell: Run) -> None:
        """That one has its result."""
        self.waiting.get(cell.training, set()).discard(cell.key)
        if not self.waiting.get(cell.training) and not self.keep:
            self.results.remove_trained(cell.training)


def keep_training(folder: Path, run: Run, method: Method, metrics: list[str]) -> None:
    """Leave the weights in ``folder`` if the engine made the folder above it."""
    if folder.parent.is_dir():
        kept = Checkpoint(method.state_dict(), {"by": run.key, "metrics": metrics})
        write_checkpoint(folder, len(metrics), kept, token_of(run.training))


def take_training(folder: Path, run: Run, method: Method) -> Trained | None:
    """Give ``method`` the weights in ``folder``; None where there are none that ``run`` could use."""
    if run.selection == "paper":
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
