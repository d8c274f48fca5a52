"""Many support vector machines at a time: one program each, by sequential minimal optimisation.

The dual of one machine, with y = ±1 and β = y α, is to minimise ½ βᵀ K β − yᵀ β with Σ β = 0 and each β between 0 and
y C. With the gradient f = K β − y, a step takes the pair that promises the most (Fan, Chen & Lin 2005: second order)

    i: of those that may rise, the lowest f
    j: of those that may fall, the highest (f_j − f_i)² / (K_ii + K_jj − 2 K_ij)

and moves β_i up and β_j down by as much as helps and the bounds allow. It ends when no pair violates optimality by more
than the tolerance. LIBSVM does the same and shrinks its problem in addition. A program keeps β and f in registers and
reads two rows of K per step.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from nmrgcl.ops.svm_solver import TOLERANCE, Solution

CHECK_EVERY = 16
"""Steps between two checks for convergence."""

MOST_STEPS = 4_000_000
"""A machine that has not converged by then is left as it is; that takes seconds on a GPU."""


def solve_svms(kernel: Tensor, bounds: Tensor, pairs: Tensor, penalties: Tensor) -> Solution:
    """What ``nmrgcl.ops.svm_solver.solve_svms`` describes."""
    parts, n, _ = kernel.shape
    shape, device = (len(penalties), parts, len(pairs)), kernel.device
    beta = torch.zeros(*shape, n, dtype=torch.float64, device=device)
    threshold, gap = (torch.empty(shape, dtype=torch.float64, device=device) for _ in range(2))
    steps = torch.empty(shape, dtype=torch.long, device=device)
    sizes = bounds.diff()[:, pairs].sum(2)
    block = max(64, triton.next_power_of_2(int(sizes.max())))  # a machine has the rows of two classes only
    unit = bool((kernel.diagonal(dim1=1, dim2=2) == 1).all())
    _minimise[(threshold.numel(),)](
        beta, threshold, gap, steps, kernel, bounds, pairs, penalties, parts, len(pairs), bounds.shape[1], n,
        TOLERANCE, MOST_STEPS, CHECK_EVERY=CHECK_EVERY, UNIT=unit, BLOCK=block, num_warps=max(1, min(32, block // 128)),
    )  # fmt: skip
    return Solution(beta, threshold, gap, steps)


@triton.jit
def _minimise(
    beta: tl.tensor, threshold: tl.tensor, gaps: tl.tensor, steps: tl.tensor, kernel: tl.tensor, bounds: tl.tensor,
    pairs: tl.tensor, penalties: tl.tensor, parts: tl.tensor, pair_count: tl.tensor, width: tl.tensor, n: tl.tensor,
    tolerance: tl.tensor, most_steps: tl.tensor, CHECK_EVERY: tl.constexpr, UNIT: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:  # fmt: skip
    """One program: one machine. ``UNIT``: the diagonal of the kernel is 1 and need not be read."""
    # The last penalty is usually the largest, which takes longest, so it comes first.
    machine = tl.num_programs(0) - 1 - tl.program_id(0)
    pair, part = machine % pair_count, machine // pair_count % parts
    penalty = tl.load(penalties + machine // (parts * pair_count))
    positive, negative = tl.load(pairs + 2 * pair), tl.load(pairs + 2 * pair + 1)
    begins = bounds + part * width
    first, second = tl.load(begins + positive).to(tl.int32), tl.load(begins + negative).to(tl.int32)
    positives = tl.load(begins + positive + 1).to(tl.int32) - first
    size = positives + tl.load(begins + negative + 1).to(tl.int32) - second
    # Lanes count the positive rows first; now second + lane is the row of a negative lane.
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
        # Any violating pair will do, so pairs are chosen in float32; by how much they move is computed in float64.
        near, may_fall = slope.to(tl.float32), there & (value > low)
        lowest, i = tl.min(tl.where(there & (value < high), near, float("inf")), 0, return_indices=True)
        place = (tl.where(i < positives, first, second) + i).to(tl.int64)
        of_i = tl.load(rows + place * n + row, mask=there, other=0.0)
        both = 2.0 if UNIT else own + tl.load(rows + place * (n + 1), mask=i < size, other=0.0)
        rise, curve = near - lowest, tl.maximum(both - 2.0 * of_i, 1e-12)  # equal rows have no curvature
        most, j = tl.max(tl.where(may_fall & (rise > 0.0), rise * rise / curve, -1.0), 0, return_indices=True)
        place = (tl.where(j < positives, first, second) + j).to(tl.int64)
        of_j = tl.load(rows + place * n + row, mask=there, other=0.0)
        if step % CHECK_EVERY == 0:
            gap = tl.max(tl.where(may_fall, rise, float("-inf")), 0).to(tl.float64)
        is_i, is_j = lane == i, lane == j
        wanted = tl.minimum(value - low, (rise / curve).to(tl.float64))
        move = tl.min(tl.where(is_i, high - value, tl.where(is_j, wanted, float("inf"))), 0)
        move = tl.where(most > 0.0, move, 0.0)
        # What reaches a bound is set to it, because rounding might leave a remainder that could still move.
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
