"""How much memory a piece of work needs at its peak."""

import os
from collections.abc import Callable

import torch
from torch.profiler import ProfilerActivity, profile

from nmrgcl.feed.choose import available_bytes

__all__ = ["available_bytes", "peak_bytes"]


def peak_bytes(work: Callable[[], object], device: torch.device) -> int:
    """The most bytes of tensors that ``work`` holds at a time, on top of what was there before."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        work()
        torch.cuda.synchronize(device)
        return torch.cuda.max_memory_allocated(device) - before
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # the profiler reports its own start and stop on stderr
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record:
        work()
    events = record.profiler.kineto_results.events()
    changes = sorted((e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]")
    held = peak = 0
    for _, change in changes:
        held += change
        peak = max(peak, held)
    return peak
