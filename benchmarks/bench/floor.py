"""A lower bound on the time of a step of the molecular GIN: its matrix products and its memory traffic.

Both are measured in the same process: the products with their actual shapes, and the bandwidth of a copy.
"""

from collections.abc import Callable
from functools import partial

import torch

from bench.timing import in_turn, stopwatch
from nmrgcl.ops.linear import aligned_width

COPIED = 1 << 28
"""Bytes to copy, more than fit into any cache."""
CALLS = 20
READS_AND_WRITES = 12
"""How often a layer reads or writes an ``[N, units]`` matrix if everything that can be fused is fused.

Sum over neighbours: read, write. Norm: read for the statistics, read and write. Backward of the norm: read gradient and
input for two sums, read both again, write. Backward of the sum: read, write. The traffic of the matrix products is part
of their measured time; ReLU and bonds cost nothing.
"""


def floor_seconds(nodes: int, *, layers: int, units: int, dtype: torch.dtype, device: torch.device) -> float:
    """Seconds of one step: two views of ``nodes`` nodes in all layers, forward and backward.

    If products of this width are slow, the next faster width is used.
    """
    units = aligned_width(units)
    of_layer = _products(nodes, units, dtype, device)
    traffic = READS_AND_WRITES * nodes * units * torch.empty((), dtype=dtype).element_size()
    return 2 * layers * (of_layer + traffic / copy_speed(device))


def copy_speed(device: torch.device, size: int = COPIED) -> float:
    """Bytes per second, read and written."""
    source = torch.zeros(size if device.type == "cuda" else size // 8, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * source.nbytes / _seconds(lambda: target.copy_(source), device)


def _products(nodes: int, units: int, dtype: torch.dtype, device: torch.device) -> float:
    """Seconds of a layer's two matrix products and of the four of their gradients."""
    h, hidden = (torch.randn(nodes, width, dtype=dtype, device=device) for width in (units, 2 * units))
    up = torch.randn(units, 2 * units, dtype=dtype, device=device)
    works = [
        (h, up),
        (hidden, up.T),
        (h, up),  # Backward of the second product.
        (hidden, up.T),  # Backward of the first product.
        (h.T, hidden),  # The gradients of the two weights.
        (hidden.T, h),
    ]
    return sum(_seconds(partial(torch.mm, a, b), device) for a, b in works)


def _seconds(work: Callable[[], object], device: torch.device) -> float:
    """Seconds of one call, the best of three rounds."""
    measure = stopwatch(work, device, calls=CALLS if device.type == "cuda" else 1)
    return min(in_turn({"work": measure}, 3)["work"])
