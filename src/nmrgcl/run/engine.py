"""Many cells → their results, each computed once, on one machine or on many.

Cells that differ only in how they are judged share a training. One of them is computed first; it leaves its weights in
a folder that is made for them, and the others, which come as soon as these are there, take them. Where there are none,
or damaged ones, a cell trains for itself: sharing saves time and changes nothing else.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmrgcl.errors import SettingError, nearest
from nmrgcl.run.backends import BACKENDS, Backend, Place, WorkerDiedError, worker_count
from nmrgcl.run.cell import Cell
from nmrgcl.run.execute import CellOutcome
from nmrgcl.run.interrupt import Stop
from nmrgcl.run.results import Results
from nmrgcl.train.checkpoint import CHECKPOINTS

Mapped = Callable[[Iterable[Cell]], Iterator[CellOutcome]]


@dataclass(frozen=True)
class Summary:
    """Keys of cells by what became of them.

    Attributes:
        done: computed now.
        skipped: finished before.
        failed: recorded with their error; they are tried again next time.
        busy: another process is computing them.
        lost: their worker died, time and again; nothing is recorded of them but their checkpoints.
    """

    done: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    busy: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every cell has its result."""
        return not (self.failed or self.busy or self.lost)


def run_cells(
    cells: Iterable[Cell],
    results_folder: Path | str,
    *,
    jobs: int = 0,
    backend: Backend = "processes",
    device: str = "auto",
    on_done: Callable[[Cell, CellOutcome], None] | None = None,
    cluster: str = "slurm",
    slurm: dict[str, Any] | None = None,
    keep_trained: bool = False,
) -> Summary:
    """Compute the cells that are not finished yet; no failure of one stops another.

    SIGINT and SIGTERM make the cells under way keep a checkpoint, then raise ``Interrupted``; calling again with the
    same cells goes on.

    Args:
        cells: in any order; the same cell twice is one. Those that differ only in how they are judged share a
            training: one of them is computed first.
        results_folder: where results are kept; several engines may share it.
        jobs: cells at a time; 0: one a core, a few on a CUDA device, which they share.
        backend: "processes" of this machine, "ray", "slurm", or "inline" in this process.
        device: where to train and to judge.
        on_done: called with each cell that has ended and its outcome.
        cluster: "local" for the Slurm backend on this machine.
        slurm: parameters for Slurm, such as partition, as submitit knows them.
        keep_trained: leave the weights of every training in the folder, for cells of other judges that come later.
    """
    if backend not in BACKENDS:
        raise SettingError(f"unknown backend {backend!r}; {nearest(backend, BACKENDS)}")
    results = Results(Path(results_folder).absolute())
    results.require_no_links()
    wanted = {cell.key: cell for cell in cells}
    skipped = [key for key in wanted if results.finished(key)]
    for key in skipped:
        results.remove_work(key)  # left by a process that was killed at its very end
    todo = {key: cell for key, cell in wanted.items() if key not in set(skipped)}
    trainings = SharedTrainings(results, todo.values(), keep=keep_trained)
    for key in skipped:
        trainings.done(wanted[key])
    ended: dict[str, list[str]] = {"done": [], "failed": [], "busy": [], "lost": []}
    if todo:
        stop, count = Stop(results.folder), worker_count(jobs, device)
        chosen = BACKENDS["inline" if backend == "processes" and count == 1 else backend]
        place = Place(results.folder, device, stop, cluster, slurm or {})
        first, then = in_turn(todo.values())
        with results.staying(), stop.listening():
            trainings.begin([*first, *then] if keep_trained else then)
            for outcome in _rounds(first, then, results, lambda some: chosen(some, place, count), stop):
                ended[outcome.status].append(outcome.key)
                if outcome.status == "done":
                    trainings.done(todo[outcome.key])
                if on_done:
                    on_done(todo[outcome.key], outcome)
    return Summary(skipped=tuple(skipped), **{status: tuple(keys) for status, keys in ended.items()})


def _rounds(
    first: list[Cell], then: list[Cell], results: Results, compute: Mapped, stop: Stop
) -> Iterator[CellOutcome]:
    """Outcomes of the cells that train and of those that follow them, then of those whose training never came."""
    leaders = {cell.key for cell in first}
    left = {cell.key: cell for cell in [*first, *then]}

    def led(cells: list[Cell]) -> Iterator[Cell]:
        training = [cell for cell in cells if cell.key in leaders]
        return soonest(training, [cell for cell in cells if cell.key not in leaders], results)

    for order in (led, iter):
        for outcome in _outcomes(list(left.values()), order, results, compute, stop):
            del left[outcome.key]
            yield outcome
        stop.obey()


def _outcomes(
    cells: list[Cell],
    order: Callable[[list[Cell]], Iterator[Cell]],
    results: Results,
    compute: Mapped,
    stop: Stop,
) -> Iterator[CellOutcome]:
    """One outcome a cell that ``order`` lets come; one whose worker died, or lacked memory, is tried again, alone."""
    waiting, suspects = {cell.key: cell for cell in cells}, list[Cell]()
    while waiting:
        handed: dict[str, None] = {}
        try:
            for outcome in compute(_noted(order(list(waiting.values())), handed)):
                cell = waiting.pop(outcome.key)
                if outcome.status == "lost" or outcome.crowded:
                    suspects.append(cell)
                else:
                    yield outcome
            break
        except WorkerDiedError as error:
            stop.obey()
            if not handed:  # it is not a cell that ends them
                raise SettingError(f"workers end before they compute anything ({error}); try --jobs 1") from None
            for outcome in _already_there(waiting, results):
                waiting.pop(outcome.key)
                yield outcome
            under_way = [key for key in handed if key in waiting]
            suspects += [waiting.pop(key) for key in under_way]
            print(f"nmrgcl: a worker died ({error}); {len(under_way)} cells are tried again", file=sys.stderr)
    for cell in suspects:  # alone, so that no other dies with it
        stop.obey()
        yield from _alone(cell, results, compute)


def _noted(cells: Iterator[Cell], handed: dict[str, None]) -> Iterator[Cell]:
    """The cells; the keys of those that were asked for are in ``handed``."""
    for cell in cells:
        handed[cell.key] = None
        yield cell


def _alone(cell: Cell, results: Results, compute: Mapped) -> Iterator[CellOutcome]:
    for again in (True, False):  # a worker may have been of no use already, and have ended for that
        try:
            yield from compute([cell])
        except WorkerDiedError as error:
            there = list(_already_there({cell.key: cell}, results))
            if again and not there:
                continue
            yield from there or [CellOutcome(cell.key, "lost", message=f"the worker died again ({error})")]
        return


def _already_there(waiting: dict[str, Cell], results: Results) -> list[CellOutcome]:
    """Cells that were finished although their worker could not say so."""
    found = {key: results.finished(key) for key in waiting}
    return [CellOutcome(key, "done", result.mean) for key, result in found.items() if result]


def in_turn(cells: Iterable[Cell]) -> tuple[list[Cell], list[Cell]]:
    """Cells that train, and those that take what one of the first has trained.

    Selection "paper" judges during the training, so that such a cell trains itself, and others follow it.
    """
    cells = list(cells)
    leaders = {cell.training: cell.key for cell in reversed(cells)}
    leaders |= {cell.training: cell.key for cell in cells if cell.selection == "paper"}
    first = [cell for cell in cells if cell.selection == "paper" or leaders[cell.training] == cell.key]
    keys = {cell.key for cell in first}
    return first, [cell for cell in cells if cell.key not in keys]


def soonest(leaders: Iterable[Cell], followers: Iterable[Cell], results: Results) -> Iterator[Cell]:
    """All leaders and, as soon as their training is there, followers; those whose training never comes are left out.

    What is there is looked up whenever another cell is asked for, so that a table that ends early has whole rows.
    """
    waiting: dict[str, list[Cell]] = {}
    for cell in followers:
        waiting.setdefault(cell.training, []).append(cell)

    def ready() -> Iterator[Cell]:
        for training in [one for one in waiting if any(results.trained(one).glob(f"*/{CHECKPOINTS}"))]:
            yield from waiting.pop(training)

    for leader in leaders:
        yield from ready()
        yield leader
    yield from ready()


class SharedTrainings:
    """What the engine knows: which cells still wait for a training; it is removed when none does, or kept for later."""

    def __init__(self, results: Results, cells: Iterable[Cell], *, keep: bool = False) -> None:
        self.results, self.keep = results, keep
        self.waiting: dict[str, set[str]] = {}
        for cell in cells:
            self.waiting.setdefault(cell.training, set()).add(cell.key)

    def begin(self, followers: Iterable[Cell]) -> None:
        """Have the trainings of these cells kept."""
        for cell in followers:
            self.results.trained(cell.training).mkdir(parents=True, exist_ok=True)

    def done(self, cell: Cell) -> None:
        """That one has its result."""
        self.waiting.get(cell.training, set()).discard(cell.key)
        if not self.waiting.get(cell.training) and not self.keep:
            self.results.remove_trained(cell.training)
