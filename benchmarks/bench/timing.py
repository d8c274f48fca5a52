"""Comparable timings: measured in turn in one process on one thread, as medians with their spread.

On a CPU, processor time is measured, which excludes waiting for other processes; on an idle machine, it equals
wall-clock time.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from threadpoolctl import threadpool_limits

from bench.table import Row

Measure = Callable[[], float]
"""A function that does the work once and returns its cost."""


def in_turn(measures: Mapping[str, Measure], repeats: int) -> dict[str, list[float]]:
    """``repeats`` costs of each measure, after a warm-up."""
    for measure in measures.values():
        measure()
    costs: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(repeats):  # In turn, so that other load on the machine affects all of them.
        for name, measure in measures.items():
            costs[name].append(measure())
    return costs


def stopwatch(work: Callable[[], object], device: torch.device, *, calls: int = 1) -> Measure:
    """Seconds per call of ``work`` on ``device``, the mean of ``calls`` consecutive calls."""

    def measure() -> float:
        began = now(device)
        for _ in range(calls):
            work()
        return (now(device) - began) / calls

    return measure


def now(device: torch.device) -> float:
    """The time in seconds after the device has finished its work."""
    if device.type != "cuda":
        return time.process_time()
    torch.cuda.synchronize(device)
    return time.perf_counter()


def row(
    name: str, unit: str, costs: Sequence[float], peer: Sequence[float] | None = None, *, scale: float = 1.0
) -> Row:
    """A row with medians and spread; ``scale`` converts costs to ``unit``."""
    return Row(
        name=name,
        value=scale * statistics.median(costs),
        unit=unit,
        spread=scale * (max(costs) - min(costs)),
        peer=scale * statistics.median(peer) if peer else None,
    )


@contextmanager
def one_thread() -> Iterator[None]:
    """Use one thread for torch and every BLAS, and restore the previous number afterwards."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(threads)
