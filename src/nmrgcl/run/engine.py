"""Compute many cells, each of them once, on one machine or several.

Cells that differ only in how they are evaluated share a training. One of them, the leader, is computed first and saves
its weights in a folder that the engine has created for them; the others follow as soon as the weights are there. If
the weights are missing or damaged, a cell trains by itself: sharing saves time and changes nothing else.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmrgcl.errors import SettingError, nearest
from nmrgcl.run.backends import BACKENDS, HERE, Backend, Place, WorkerDiedError, worker_count
from nmrgcl.run.cell import Cell
from nmrgcl.run.execute import CellOutcome
from nmrgcl.run.interrupt import Stop
from nmrgcl.run.machine import device_type
from nmrgcl.run.results import Results
from nmrgcl.train.checkpoint import CHECKPOINTS

Mapped = Callable[[Iterable[Cell]], Iterator[CellOutcome]]


@dataclass(frozen=True)
class Summary:
    """The keys of all cells, by outcome.

    Attributes:
        done: computed by this call.
        skipped: finished earlier.
        failed: recorded with their error; the next call tries them again.
        busy: being computed by another process.
        lost: their worker died repeatedly; only their checkpoints are left.
    """

    done: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    busy: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every cell has a result."""
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
    address: str | None = None,
    keep_trained: bool = False,
) -> Summary:
    """Compute the cells that are not finished yet; a failure of one cell does not stop the others.

    On SIGINT or SIGTERM, the cells under way write a checkpoint and ``Interrupted`` is raised; another call with the
    same cells continues from there.

    Args:
        cells: the cells in any order; duplicates are computed once. Cells that differ only in how they are evaluated
            share a training, and one of them is computed first.
        results_folder: the folder for results; several engines may share it.
        jobs: how many cells to compute at a time; 0: one per core, or a few that share a CUDA device.
        backend: "processes" on this machine, "ray", "slurm", or "inline" in this process.
        device: the device to train and evaluate on.
        on_done: called with each cell that has ended and its outcome.
        cluster: "local" runs the Slurm backend on this machine.
        slurm: parameters for Slurm, such as the partition, under submitit's names.
        address: the Ray cluster, as HOST:PORT; None: RAY_ADDRESS, or one that starts on this machine.
        keep_trained: keep the weights of every training for later cells that evaluate it in other ways.
    """
    if backend not in BACKENDS:
        raise SettingError(f"unknown backend {backend!r}; {nearest(backend, BACKENDS)}")
    results = Results(Path(results_folder).absolute())
    results.require_no_links()
    wanted = {cell.key: cell for cell in cells}
    skipped = [key for key in wanted if results.finished(key)]
    for key in skipped:
        results.remove_work(key)  # A process killed right after it wrote the result leaves its checkpoints behind.
    todo = {key: cell for key, cell in wanted.items() if key not in set(skipped)}
    trainings = SharedTrainings(results, todo.values(), keep=keep_trained)
    for key in skipped:
        # Likewise, it may not have got to removing the weights of a training that no cell needs any more.
        trainings.done(wanted[key])
    ended: dict[str, list[str]] = {"done": [], "failed": [], "busy": [], "lost": []}
    if todo:
        # Workers elsewhere choose their device themselves, and a Ray cluster has cores of its own.
        kind = device_type(device) if backend in HERE else device
        stop, count = Stop(results.folder), jobs if backend == "ray" else worker_count(jobs, kind)
        chosen = BACKENDS["inline" if backend == "processes" and count == 1 else backend]
        place = Place(results.folder, device, stop, cluster, slurm or {}, address)
        first, then = in_turn(todo.values())
        with results.staying(), stop.listening():
            # A leader saves its weights only where it finds this folder.
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
    """Outcomes of leaders and their followers, then of the followers whose training never appeared."""
    leaders = {cell.key for cell in first}
    left = {cell.key: cell for cell in [*first, *then]}

    def led(cells: list[Cell]) -> Iterator[Cell]:
        training = [cell for cell in cells if cell.key in leaders]
        return soonest(training, [cell for cell in cells if cell.key not in leaders], results)

    # In the second round the followers that are left train themselves: their leader has failed, or is busy elsewhere.
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
    """One outcome per cell that ``order`` yields; a cell whose worker died or ran out of memory is retried alone."""
    waiting, suspects = {cell.key: cell for cell in cells}, list[Cell]()
    while waiting:
        handed: dict[str, None] = {}
        try:
            for outcome in compute(_noted(order(list(waiting.values())), handed)):
                cell = waiting.pop(outcome.key)
                # It may well succeed by itself, with all of the memory.
                if outcome.status == "lost" or outcome.crowded:
                    suspects.append(cell)
                else:
                    yield outcome
            break
        except WorkerDiedError as error:
            stop.obey()
            if not handed:  # No cell can be the cause.
                raise SettingError(f"workers die before they compute anything ({error}); try --jobs 1") from None
            for outcome in _already_there(waiting, results):
                waiting.pop(outcome.key)
                yield outcome
            under_way = [key for key in handed if key in waiting]
            suspects += [waiting.pop(key) for key in under_way]
            print(f"nmrgcl: a worker died ({error}); retrying {len(under_way)} cells", file=sys.stderr)
    for cell in suspects:  # One at a time, so that no other cell is lost with it.
        stop.obey()
        yield from _alone(cell, results, compute)


def _noted(cells: Iterator[Cell], handed: dict[str, None]) -> Iterator[Cell]:
    """Yield the cells and add the key of each to ``handed``: if a worker dies, these are the suspects."""
    for cell in cells:
        handed[cell.key] = None
        yield cell


def _alone(cell: Cell, results: Results, compute: Mapped) -> Iterator[CellOutcome]:
    for again in (True, False):  # The worker may already have been unusable; retry once.
        try:
            yield from compute([cell])
        except WorkerDiedError as error:
            there = list(_already_there({cell.key: cell}, results))
            if again and not there:
                continue
            yield from there or [CellOutcome(cell.key, "lost", message=f"the worker died again ({error})")]
        return


def _already_there(waiting: dict[str, Cell], results: Results) -> list[CellOutcome]:
    """Outcomes of cells that were finished although their worker died before it could report them."""
    found = {key: results.finished(key) for key in waiting}
    return [CellOutcome(key, "done", result.mean) for key, result in found.items() if result]


def in_turn(cells: Iterable[Cell]) -> tuple[list[Cell], list[Cell]]:
    """Split the cells into leaders, which train, and followers, which use the weights of a leader.

    Selection "paper" evaluates during training, so such a cell always trains, and the others follow it.
    """
    cells = list(cells)
    # Reversed, so that the first cell of each training leads.
    leaders = {cell.training: cell.key for cell in reversed(cells)}
    leaders |= {cell.training: cell.key for cell in cells if cell.selection == "paper"}
    first = [cell for cell in cells if cell.selection == "paper" or leaders[cell.training] == cell.key]
    keys = {cell.key for cell in first}
    return first, [cell for cell in cells if cell.key not in keys]


def soonest(leaders: Iterable[Cell], followers: Iterable[Cell], results: Results) -> Iterator[Cell]:
    """Yield all leaders, and each follower as soon as its weights exist; followers without weights are left out.

    The check is made whenever the next cell is requested, so a sweep that ends early has complete rows.
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
    """Keeps track of which cells still need a training; its weights are removed after the last one, unless kept."""

    def __init__(self, results: Results, cells: Iterable[Cell], *, keep: bool = False) -> None:
        self.results, self.keep = results, keep
        self.waiting: dict[str, set[str]] = {}
        for cell in cells:
            self.waiting.setdefault(cell.training, set()).add(cell.key)

    def begin(self, followers: Iterable[Cell]) -> None:
        """Create the folders in which the trainings of these cells are saved."""
        for cell in followers:
            self.results.trained(cell.training).mkdir(parents=True, exist_ok=True)

    def done(self, cell: Cell) -> None:
        """Note that ``cell`` has its result."""
        self.waiting.get(cell.training, set()).discard(cell.key)
        if not self.waiting.get(cell.training) and not self.keep:
            self.results.remove_trained(cell.training)
