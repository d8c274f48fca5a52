"""The random walks with restart of a batch as one kernel, instead of several launches per step."""

import torch
import triton
import triton.language as tl
from torch import Tensor


def visited_nodes(
    start: Tensor,
    size: Tensor,
    row_ptr: Tensor,
    source: Tensor,
    below: Tensor | None,
    draws: Tensor,
    restarts: Tensor,
    *,
    p: float,
    ratio: float,
) -> Tensor:
    """What ``nmrgcl.ops.walk.visited_nodes`` describes."""
    keep = torch.zeros(row_ptr.shape[0] - 1, dtype=torch.bool, device=row_ptr.device)
    steps, graphs = draws.shape
    if graphs:
        _walk[(graphs,)](
            keep, start, size, row_ptr, source, below, draws, restarts, float(p), float(ratio), steps,
            WEIGHTED=below is not None, num_warps=1,
        )  # fmt: skip
    return keep


@triton.jit(do_not_specialize=["steps"])
def _walk(
    keep: tl.tensor,
    start: tl.tensor,
    size: tl.tensor,
    row_ptr: tl.tensor,
    source: tl.tensor,
    below: tl.tensor,
    draws: tl.tensor,
    restarts: tl.tensor,
    p: tl.tensor,
    ratio: tl.tensor,
    steps: tl.tensor,
    WEIGHTED: tl.constexpr,
) -> None:
    """One program walks through one graph, until it has seen enough, has made all its steps or cannot move.

    A step depends on the one before, so a program is the work of one thread, and graphs run side by side. The result
    itself tells which nodes have been seen. The draws of the next step are fetched during this one.
    """
    graph, graphs = tl.program_id(0), tl.num_programs(0)
    nodes = tl.load(size + graph)
    if nodes == 0:
        return
    # In float32 like the plain form: both must round alike to visit the same nodes.
    most = tl.maximum(tl.ceil(nodes.to(tl.float32) * ratio), 1.0)
    first = tl.load(start + graph)
    tl.store(keep + first, True)
    here = first
    seen, step = tl.full((), 1, tl.int32), tl.full((), 0, tl.int64)
    room = tl.full((), 1, tl.float64)
    draw, restart = tl.load(draws + graph), tl.load(restarts + graph)
    while (step < steps) & (seen < most) & (room > 0):
        step += 1
        more = step < steps
        next_draw = tl.load(draws + step * graphs + graph, mask=more, other=0.0)
        next_restart = tl.load(restarts + step * graphs + graph, mask=more, other=0.0)
        edge, room = _pick_edge(row_ptr, below, here, draw, WEIGHTED)
        if room > 0:
            here = tl.where(restart < p, first, tl.load(source + edge))
            tl.debug_barrier()  # all threads of the program see what the first of them has stored
            if not tl.load(keep + here):
                seen += 1
                tl.store(keep + here, True)
        draw, restart = next_draw, next_restart


@triton.jit
def _pick_edge(
    row_ptr: tl.tensor, below: tl.tensor, here: tl.tensor, draw: tl.tensor, WEIGHTED: tl.constexpr
) -> tuple[tl.tensor, tl.tensor]:
    """An edge into ``here``, with probability proportional to its weight, and the sum of all their weights."""
    low, high = tl.load(row_ptr + here), tl.load(row_ptr + here + 1)
    last = high - 1
    if WEIGHTED:
        under = tl.load(below + low - 1, mask=low > 0, other=0.0)
        room = tl.load(below + last, mask=high > 0, other=0.0) - under
        mark = under + draw * room
        while low < high:  # the first edge whose running sum exceeds the mark
            middle = (low + high) // 2
            above = tl.load(below + middle) > mark
            high = tl.where(above, middle, high)
            low = tl.where(above, low, middle + 1)
        edge = low
    else:
        room = (high - low).to(tl.float64)
        edge = (low.to(tl.float64) + draw * room).to(tl.int64)
    return tl.minimum(edge, last), room  # rounding may carry the mark to the end of the row
