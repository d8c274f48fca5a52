"""The peak memory of a computation."""

import ctypes
import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import torch
from torch.profiler import ProfilerActivity, profile


def peak_bytes(work: Callable[[], object], device: torch.device) -> int:
    """The largest size of tensors in bytes that ``work`` holds at a time, in addition to what existed before."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        work()
        torch.cuda.synchronize(device)
        return torch.cuda.max_memory_allocated(device) - before
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # Otherwise the profiler logs its start and stop to stderr.
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record:
        work()
    events = record.profiler.kineto_results.events()
    changes = sorted((e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]")
    held = peak = 0
    for _, change in changes:
        held += change
        peak = max(peak, held)
    return peak


def resident_bytes() -> tuple[int, int]:
    """The memory of the process, in total and without mapped files, whose pages the system can drop at any time."""
    try:
        resident, mapped = (int(n) for n in Path("/proc/self/statm").read_text(encoding="ascii").split()[1:3])
    except OSError:  # This file exists only on Linux.
        return 0, 0
    page = os.sysconf("SC_PAGE_SIZE")
    return page * resident, page * (resident - mapped)


def own_bytes() -> int:
    """The memory of the process without mapped files; 0 if the system does not report it."""
    return resident_bytes()[1]


def give_back() -> None:
    """Return freed memory to the system if the C library can, so that later allocations are counted in full."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


class Watch:
    """The peak of ``own_bytes`` since the start, sampled every few milliseconds, minus the value at the start."""

    def __init__(self, seconds: float = 0.005) -> None:
        give_back()
        self.start = own_bytes()
        self.peak, self.seconds, self.enough = 0, seconds, Event()

    def look(self) -> None:
        """Record the peak until ``enough`` is set."""
        while not self.enough.wait(self.seconds):
            self.peak = max(self.peak, own_bytes() - self.start)


@contextmanager
def watched() -> Iterator[Watch]:
    """Sample the memory of this process while the context lasts."""
    watch = Watch()
    thread = Thread(target=watch.look, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        watch.enough.set()
        thread.join()
