"""Backends that compute cells: each maps cells to outcomes and yields them in the order in which they finish."""

import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from nmrgcl.errors import SettingError
from nmrgcl.run.cell import Cell
from nmrgcl.run.execute import CellOutcome, compute_cell
from nmrgcl.run.interrupt import Interrupted, Stop
from nmrgcl.run.machine import cuda_is_unusable
from nmrgcl.run.ray_cluster import connect, require_workers, run_tasks, slots

Backend = Literal["processes", "ray", "slurm", "inline"]
HERE = ("processes", "inline")
"""Backends that compute on this machine."""
SHARING = 4
"""Default number of processes that share a CUDA device; the context of each takes a few hundred MB."""
_POLL = 0.2


class WorkerDiedError(Exception):
    """A worker process died before it returned an outcome, which breaks its whole pool."""


@dataclass(frozen=True)
class Place:
    """What all cells of one engine share.

    Attributes:
        folder: the results folder.
        device: "auto", "cpu" or "cuda"; each worker resolves it on its own machine.
        stop: records whether the engine has been asked to stop.
        cluster: the cluster of submitit: "slurm", or "local" for processes on this machine.
        slurm: submitit's Slurm parameters without their ``slurm_`` prefix.
        address: the Ray cluster to connect to, as HOST:PORT; None: RAY_ADDRESS, or one on this machine.
    """

    folder: Path
    device: str
    stop: Stop
    cluster: str = "slurm"
    slurm: dict[str, Any] = field(default_factory=dict)
    address: str | None = None

    def until_stopped(self, cells: Iterable[Cell]) -> Iterator[Cell]:
        """Yield the cells until the engine is asked to stop."""
        for cell in cells:
            if self.stop.received is not None:
                return
            yield cell


def worker_count(jobs: int, device: str, sharing: int = SHARING) -> int:
    """``jobs`` or, if it is 0, a number that suits this machine: one per core, or ``sharing`` on a CUDA device."""
    # os.cpu_count() alone would include cores that this process must not use.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return jobs or (min(cores, sharing) if device == "cuda" else cores)


def inline(cells: Iterable[Cell], place: Place, jobs: int) -> Iterator[CellOutcome]:
    """Compute one cell after another in this process."""
    for cell in place.until_stopped(cells):
        if cuda_is_unusable():
            raise SettingError("an earlier error left CUDA unusable in this process; run the command again to continue")
        outcome = compute_cell(cell, place.folder, place.device)
        if outcome.signum:
            # The cell's own handlers have received the signal, so place.stop does not know of it.
            raise Interrupted(outcome.signum)
        yield outcome


def processes(cells: Iterable[Cell], place: Place, jobs: int) -> Iterator[CellOutcome]:
    """Compute cells in processes on this machine, with one thread each."""
    from joblib import Parallel, delayed, parallel_config

    tasks = (
        delayed(compute_cell)(cell, place.folder, place.device, place.stop.path) for cell in place.until_stopped(cells)
    )
    try:
        with parallel_config(backend="loky", inner_max_num_threads=1):
            # Dispatch no more cells than can run: if a worker dies, only the cells under way are suspected.
            pool = Parallel(max(jobs, 2), return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs")
        yield from pool(tasks)
    except BrokenExecutor as error:
        raise WorkerDiedError(str(error).partition("\n")[0]) from None


def ray(cells: Iterable[Cell], place: Place, jobs: int) -> Iterator[CellOutcome]:
    """Compute cells on the Ray cluster at ``place.address``; without one, on a cluster that starts on this machine.

    ``jobs`` 0 means as many as the cluster has room for.
    """
    connect(place.address)
    require_workers(place.folder)
    count, gpus = slots(jobs, place.device, SHARING)
    yield from run_tasks(
        partial(compute_cell, folder=place.folder, device=place.device, stop=place.stop.path),
        place.until_stopped(cells),
        jobs=count,
        gpus=gpus,
        name=lambda cell: f"{cell.method} on {cell.dataset}, seed {cell.seed}",
        lost=lambda cell, why: CellOutcome(cell.key, "lost", message=f"the worker died again ({why})"),
    )


def slurm(cells: Iterable[Cell], place: Place, jobs: int) -> Iterator[CellOutcome]:
    """Submit one Slurm job per cell, with at most ``jobs`` running at a time."""
    try:
        from submitit import AutoExecutor
    except ImportError:
        raise SettingError("backend slurm needs submitit: pip install 'nmrgcl[slurm]'") from None
    try:
        # Always a new folder: submitit unpickles what it finds there, so it must hold only what these jobs write.
        executor = AutoExecutor(folder=place.folder / ".slurm" / secrets.token_hex(4), cluster=place.cluster)
        executor.update_parameters(name="nmrgcl", timeout_min=240, cpus_per_task=1, slurm_array_parallelism=jobs)
        if place.device == "cuda":
            executor.update_parameters(gpus_per_node=1)
        # After the defaults above, which they may override.
        executor.update_parameters(**{f"slurm_{name}": value for name, value in place.slurm.items()})
    except (RuntimeError, ValueError, NameError, TypeError) as error:
        raise SettingError(f"backend slurm: {' '.join(str(error).split())[:300]}") from None
    # Slurm queues the jobs that have no room yet; the local cluster would start all of them at once.
    waiting, running = list(cells), dict[Any, Cell]()
    width = jobs if place.cluster == "local" else len(waiting)
    while (waiting or running) and place.stop.received is None:
        batch, waiting = waiting[: width - len(running)], waiting[width - len(running) :]
        if batch:
            begin = partial(compute_cell, folder=place.folder, device=place.device)
            running |= dict(zip(executor.map_array(begin, batch), batch, strict=True))
        for job in [job for job in running if job.done()]:
            yield _slurm_outcome(job, running.pop(job))
        time.sleep(_POLL)
    for job in running:
        job.cancel()  # This sends a signal, on which the cell writes a checkpoint and ends.


def _slurm_outcome(job: Any, cell: Cell) -> CellOutcome:
    problem = job.exception()
    if problem is None:
        found: CellOutcome = job.result()
        return found
    return CellOutcome(
        cell.key, "lost", message=f"job {job.job_id} ended without a result; its log: {job.paths.stderr}"
    )


BACKENDS: dict[Backend, Callable[[Iterable[Cell], Place, int], Iterator[CellOutcome]]] = {
    "inline": inline,
    "processes": processes,
    "ray": ray,
    "slurm": slurm,
}
