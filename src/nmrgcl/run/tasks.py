"""Compute independent tasks in processes of this machine or on Ray."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor
from pathlib import Path
from typing import TypeVar

from nmrgcl.errors import SettingError
from nmrgcl.run.backends import worker_count
from nmrgcl.run.machine import device_type
from nmrgcl.run.ray_cluster import connect, require_workers, run_tasks, slots

BACKENDS = ("processes", "ray", "inline")

Item = TypeVar("Item")
Found = TypeVar("Found")


def require_backend(backend: str, address: str | None) -> None:
    """Raise SettingError about an unknown backend, or an address that it does not use."""
    if backend not in BACKENDS:
        raise SettingError(f"--backend {backend}: known: {', '.join(BACKENDS)}")
    if address and backend != "ray":
        raise SettingError(f"--address: is for --backend ray, but the backend is {backend}; leave it out")


def compute_tasks(
    work: Callable[[Item], Found],
    items: Iterable[Item],
    *,
    name: Callable[[Item], str],
    lost: Callable[[Item, str], Found],
    backend: str,
    device: str,
    folder: Path,
    jobs: int = 0,
    address: str | None = None,
    packages: tuple[str, ...] = (),
) -> Iterator[Found]:
    """Yield ``work(item)`` for each item in the order in which they finish; ``work`` catches the errors it expects.

    Args:
        work: a function that workers can import.
        items: the tasks.
        name: what a task is called in Ray's lists.
        lost: the outcome of a task of which workers die repeatedly.
        backend: one of ``BACKENDS``.
        device: "auto", "cpu" or "cuda", resolved by each worker.
        folder: the folder that all workers write to.
        jobs: tasks at a time; 0: one per core, or one per GPU.
        address: the Ray cluster; None: RAY_ADDRESS, or one that starts on this machine.
        packages: further packages of which Ray's workers must have the versions of this process.
    """
    if backend == "ray":
        connect(address)
        require_workers(folder, packages)
        count, gpus = slots(jobs, device, 1)
        yield from run_tasks(work, items, jobs=count, gpus=gpus, name=name, lost=lost)
        return
    count = worker_count(jobs, device_type(device), sharing=1)
    if backend == "inline" or count == 1:
        yield from map(work, items)
        return
    yield from in_processes(work, items, count, remedy="run the same command again to continue, with --jobs 1")


def in_processes(
    work: Callable[[Item], Found],
    items: Iterable[Item],
    count: int,
    *,
    remedy: str,
    threads: int = 1,
    ordered: bool = False,
) -> Iterator[Found]:
    """Yield ``work(item)`` for each item, computed by ``count`` processes of this machine with ``threads`` each.

    If ``ordered``, in the order of the items, else in the order in which they finish. If a worker dies, the error ends
    with ``remedy``.
    """
    from joblib import Parallel, delayed, parallel_config

    kind = "generator" if ordered else "generator_unordered"
    try:
        with parallel_config(backend="loky", inner_max_num_threads=threads):
            pool = Parallel(count, return_as=kind, batch_size=1, pre_dispatch="n_jobs")
        yield from pool(delayed(work)(item) for item in items)
    except BrokenExecutor as error:
        why = str(error).partition("\n")[0]
        raise SettingError(f"a worker died ({why}); {remedy}") from None
