"""Many support vector machines at a time: one program each, by sequential minimal optimisation.

The dual of one machine, with y = ±1 and β = y α, is to minimise ½ βᵀ K β − yᵀ β with Σ β = 0 and each β between 0 and
y C. With the gradient f = K β − y, a step takes the pair that promises the most (Fan, Chen & Lin 2005: second order)

    i: of those that may rise, the lowest f
    j: of those that may fall, the highest (f_j − f_i)² / (K_ii + K_jj − 2 K_ij)

and moves β_i up and β_j down by as much as helps or fits. It ends where no pair is apart by more than the tolerance,
which is also what LIBSVM does, but for its shrinking. A program keeps β and f in registers and reads two rows of K a
step.
"""

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

WIDEST = 8192
"""Rows that a program can hold."""

TOLERANCE = 1e-3
"""LIBSVM's."""

ASK_EVERY = 16
"""Steps after which it is asked again whether there is a pair to move."""

MOST_STEPS = 4_000_000
"""A machine that has not converged by then is left as it is; seconds on a GPU."""


class Machines(NamedTuple):
    """Solved duals: β ``[M, P, Q, n]``, thresholds ``[M, P, Q]``, how far the worst pair is apart still, and steps."""

    beta: Tensor
    threshold: Tensor
    gap: Tensor
    steps: Tensor


def solve_machines(kernel: Tensor, bounds: Tensor, pairs: Tensor, penalties: Tensor) -> Machines:
    """A machine for each of M penalties, P kernels and Q pairs of classes.

    Args:
        kernel: ``[P, n, n]`` float32, symmetric.
        bounds: ``[P, K + 1]`` int64: where the rows of each class begin; they come class by class.
        pairs: ``[Q, 2]`` int64 classes; the first is positive.
        penalties: ``[M]`` float64 C.
    """
    parts, n, _ = kernel.shape
    shape, device = (len(penalties), parts, len(pairs)), kernel.device
    beta = torch.zeros(*shape, n, dtype=torch.float64, device=device)
    threshold, gap = (torch.empty(shape, dtype=torch.float64, device=device) for _ in range(2))
    steps = torch.empty(shape, dtype=torch.long, device=device)
    sizes = bounds.diff()[:, pairs].sum(2)
    block = max(64, triton.next_power_of_2(int(sizes.max())))  # of three classes, a machine has two
    unit = bool((kernel.diagonal(dim1=1, dim2=2) == 1).all())
    _minimise[(threshold.numel(),)](
        beta, threshold, gap, steps, kernel, bounds, pairs, penalties, parts, len(pairs), bounds.shape[1], n,
        TOLERANCE, MOST_STEPS, ASK_EVERY=ASK_EVERY, UNIT=unit, BLOCK=block, num_warps=max(1, min(32, block // 128)),
    )  # fmt: skip
    return Machines(beta, threshold, gap, steps)


@triton.jit
def _minimise(
    beta: tl.tensor, threshold: tl.tensor, gaps: tl.tensor, steps: tl.tensor, kernel: tl.tensor, bounds: tl.tensor,
    pairs: tl.tensor, penalties: tl.tensor, parts: tl.tensor, pair_count: tl.tensor, width: tl.tensor, n: tl.tensor,
    tolerance: tl.tensor, most_steps: tl.tensor, ASK_EVERY: tl.constexpr, UNIT: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:  # fmt: skip
    """One program: one machine. ``UNIT``: the diagonal of the kernel is 1, and need not be read."""
    machine = tl.num_programs(0) - 1 - tl.program_id(0)  # the last penalty first: as a rule the largest, and longest
    pair, part = machine % pair_count, machine // pair_count % parts
    penalty = tl.load(penalties + machine // (parts * pair_count))
    positive, negative = tl.load(pairs + 2 * pair), tl.load(pairs + 2 * pair + 1)
    begins = bounds + part * width
    first, second = tl.load(begins + positive).to(tl.int32), tl.load(begins + negative).to(tl.int32)
    positives = tl.load(begins + positive + 1).to(tl.int32) - first
    size = positives + tl.load(begins + negative + 1).to(tl.int32) - second
    second -= positives
    lane = tl.arange(0, BLOCK)
    there, is_positive = lane < size, lane < positives
    low, high = tl.where(is_positive, 0.0, -penalty), tl.where(is_positive, penalty, 0.0)
    value, slope = tl.zeros([BLOCK], tl.float64), tl.where(is_positive, -1.0, 1.0).to(tl.float64)
    rows = kernel + part.to(tl.int64) * n * n
    row = tl.where(is_positive, first, second) + lane
    if not UNIT:
        own = tl.load(rows + row.to(tl.int64) * (n + 1), mask=there, other=0.0)
    gap, step = tl.full((), 2.0, tl.float64), tl.full((), 0, tl.int32)
    while (gap > tolerance) & (step < most_steps):
        # Any pair that is apart will do, so that pairs are chosen in float32; what is moved is exact.
        near, may_fall = slope.to(tl.float32), there & (value > low)
        lowest, i = tl.min(tl.where(there & (value < high), near, float("inf")), 0, return_indices=True)
        place = (tl.where(i < positives, first, second) + i).to(tl.int64)
        of_i = tl.load(rows + place * n + row, mask=there, other=0.0)
        both = 2.0 if UNIT else own + tl.load(rows + place * (n + 1), mask=i < size, other=0.0)
        rise, curve = near - lowest, tl.maximum(both - 2.0 * of_i, 1e-12)  # rows that are alike have none
        most, j = tl.max(tl.where(may_fall & (rise > 0.0), rise * rise / curve, -1.0), 0, return_indices=True)
        place = (tl.where(j < positives, first, second) + j).to(tl.int64)
        of_j = tl.load(rows + place * n + row, mask=there, other=0.0)
        if step % ASK_EVERY == 0:
            gap = tl.max(tl.where(may_fall, rise, float("-inf")), 0).to(tl.float64)
        is_i, is_j = lane == i, lane == j
        wanted = tl.minimum(value - low, (rise / curve).to(tl.float64))
        move = tl.min(tl.where(is_i, high - value, tl.where(is_j, wanted, float("inf"))), 0)
        move = tl.where(most > 0.0, move, 0.0)
        # What reaches a bound is set to it, lest rounding leave a little that could move.
        value = tl.where(is_i, tl.where(move >= high - value, high, value + move), value)
        value = tl.where(is_j, tl.where(move >= value - low, low, value - move), value)
        slope += move * (of_i.to(tl.float64) - of_j.to(tl.float64))
        step += 1
    free = there & (value > low) & (value < high)
    count = tl.sum(free.to(tl.float64), 0)
    mean = tl.sum(tl.where(free, slope, 0.0), 0) / tl.maximum(count, 1.0)
    above = tl.min(tl.where(there & (value == low), slope, float("inf")), 0)
    below = tl.max(tl.where(there & (value == high), slope, float("-inf")), 0)
    tl.store(threshold + machine, tl.where(count > 0, mean, (above + below) / 2))
    tl.store(gaps + machine, gap)
    tl.store(steps + machine, step)
    tl.store(beta + machine.to(tl.int64) * n + row, value, mask=there)
