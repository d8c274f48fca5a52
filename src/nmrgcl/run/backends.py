"""Where cells are computed: each backend maps them to outcomes, as they come in."""

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
from nmrgcl.run.machine import spoilt

Backend = Literal["processes", "ray", "slurm", "inline"]
SHARING = 4
"""Processes on one CUDA device unless asked otherwise; each has a context of some hundred MB."""
_POLL = 0.2


class WorkerDiedError(Exception):
    """A worker process ended without an outcome, and its pool with it."""


@dataclass(frozen=True)
class Place:
    """What all cells of one engine share.

    Attributes:
        folder: of the results.
        device: "auto", "cpu" or "cuda", as the workers see them.
        stop: tells when to end.
        cluster: submitit's: "slurm", or "local" for processes of this machine.
        slurm: submitit's parameters for Slurm, without their prefix.
    """

    folder: Path
    device: str
    stop: Stop
    cluster: str = "slurm"
    slurm: dict[str, Any] = field(default_factory=dict)

    def until_stopped(self, cells: Iterable[Cell]) -> Iterator[Cell]:
        """The cells; none more once the engine is asked to end."""
        for cell in cells:
            if self.stop.received is not None:
                return
            yield cell


def worker_count(jobs: int, device: str) -> int:
    """``jobs``, or as many as suit the machine where that is 0."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return jobs or (min(cores, SHARING) if device == "cuda" else cores)


def inline(cells: Iterable[Cell], place: Place, jobs: int) -> Iterator[CellOutcome]:
    """One after the other in this process."""
    for cell in place.until_stopped(cells):
        if spoilt():
            raise SettingError("CUDA computes no more after an error in this process; the same command goes on")
        outcome = compute_cell(cell, place.folder, place.device)
        if outcome.signum:
            raise Interrupted(outcome.signum)
        yield outcome


def processes(cells: Iterable[Cell], place: Place, jobs: int) -> Iterator[CellOutcome]:
    """Processes of this machine, with one thread each."""
    yield from _joblib(cells, place, jobs, BrokenExecutor, backend="loky", inner_max_num_threads=1)


def ray(cells: Iterable[Cell], place: Place, jobs: int) -> Iterator[CellOutcome]:
    """Workers of the Ray cluster that RAY_ADDRESS names, or of one that is started on this machine."""
    try:
        from joblib import register_parallel_backend
        from ray.exceptions import RayError
        from ray.util.joblib.ray_backend import RayBackend
    except ImportError:
        raise SettingError("backend ray needs Ray: pip install 'nmrgcl[ray]'") from None

    class Streaming(RayBackend):
        """Ray's pool reports each task as it ends, which is all that a generator needs."""

        supports_return_generator = True

    register_parallel_backend("nmrgcl-ray", Streaming)
    jobs = max(jobs, 2)
    options = {"ray_remote_args": {"num_gpus": _share_of_gpus(jobs)}} if place.device == "cuda" else {}
    try:
        yield from _joblib(cells, place, jobs, RayError, backend="nmrgcl-ray", **options)
    except ValueError as error:  # a cluster with fewer cores than jobs
        raise SettingError(f"backend ray: {' '.join(str(error).split())[:300]}") from None


def _share_of_gpus(jobs: int) -> float:
    """Of each worker: without one of its own a Ray worker sees no GPU."""
    import ray

    ray.init(ignore_reinit_error=True)
    return min(1.0, float(ray.cluster_resources().get("GPU", 1)) / jobs)


def slurm(cells: Iterable[Cell], place: Place, jobs: int) -> Iterator[CellOutcome]:
    """One Slurm job a cell, ``jobs`` at a time."""
    try:
        from submitit import AutoExecutor
    except ImportError:
        raise SettingError("backend slurm needs submitit: pip install 'nmrgcl[slurm]'") from None
    try:
        # A new folder: submitit unpickles what its jobs leave there, and nothing else may lie there.
        executor = AutoExecutor(folder=place.folder / ".slurm" / secrets.token_hex(4), cluster=place.cluster)
        executor.update_parameters(name="nmrgcl", timeout_min=240, cpus_per_task=1, slurm_array_parallelism=jobs)
        if place.device == "cuda":
            executor.update_parameters(gpus_per_node=1)
        executor.update_parameters(**{f"slurm_{name}": value for name, value in place.slurm.items()})
    except (RuntimeError, ValueError, NameError, TypeError) as error:
        raise SettingError(f"backend slurm: {' '.join(str(error).split())[:300]}") from None
    # Slurm queues what it has no room for; the local cluster would start everything at once.
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
        job.cancel()  # a signal, at which the cell keeps a checkpoint and ends


def _slurm_outcome(job: Any, cell: Cell) -> CellOutcome:
    problem = job.exception()
    if problem is None:
        found: CellOutcome = job.result()
        return found
    return CellOutcome(
        cell.key, "lost", message=f"job {job.job_id} ended without a result; its log: {job.paths.stderr}"
    )


def _joblib(
    cells: Iterable[Cell], place: Place, jobs: int, broken: type[Exception], **options: Any
) -> Iterator[CellOutcome]:
    from joblib import Parallel, delayed, parallel_config

    tasks = (
        delayed(compute_cell)(cell, place.folder, place.device, place.stop.path) for cell in place.until_stopped(cells)
    )
    try:
        with parallel_config(**options):
            # No more are handed out than run: if a worker dies, the first ``jobs`` unfinished ones were under way.
            pool = Parallel(max(jobs, 2), return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs")
        yield from pool(tasks)
    except broken as error:
        raise WorkerDiedError(str(error).partition("\n")[0]) from None


BACKENDS: dict[Backend, Callable[[Iterable[Cell], Place, int], Iterator[CellOutcome]]] = {
    "inline": inline,
    "processes": processes,
    "ray": ray,
    "slurm": slurm,
}
