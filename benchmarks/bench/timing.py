"""Times that can be compared: taken in turn in one process on one thread, as medians with their spread.

On a CPU they are the processor's time, which does not count waiting for other processes; alone on a machine it is
what the clock shows.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from threadpoolctl import threadpool_limits

from bench.table import Row

Measure = Callable[[], float]
"""Does the work once and returns what it cost."""


def in_turn(measures: Mapping[str, Measure], repeats: int) -> dict[str, list[float]]:
    """``repeats`` costs of each, after one of each to warm up."""
    for measure in measures.values():
        measure()
    costs: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(repeats):  # in turn, so that a busy moment of the machine hits all of them
        for name, measure in measures.items():
            costs[name].append(measure())
    return costs


def stopwatch(work: Callable[[], object], device: torch.device, *, calls: int = 1) -> Measure:
    """Seconds of one call of ``work`` on ``device``, the mean of ``calls`` in a row."""

    def measure() -> float:
        began = now(device)
        for _ in range(calls):
            work()
        return (now(device) - began) / calls

    return measure


def now(device: torch.device) -> float:
    """Seconds, once the device has done what it was given."""
    if device.type != "cuda":
        return time.process_time()
    torch.cuda.synchronize(device)
    return time.perf_counter()


def row(
    name: str, unit: str, costs: Sequence[float], peer: Sequence[float] | None = None, *, scale: float = 1.0
) -> Row:
    """Medians and spread; ``scale`` brings costs to ``unit``."""
    return Row(
        name=name,
        value=scale * statistics.median(costs),
        unit=unit,
        spread=scale * (max(costs) - min(costs)),
        peer=scale * statistics.median(peer) if peer else None,
    )


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for torch and every BLAS; what there was before comes back."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(threads)
