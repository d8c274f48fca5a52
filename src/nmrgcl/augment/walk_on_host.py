"""The random walk with restart where the host computes.

A step is too little work for PyTorch's calls; NumPy's cost a third of them.
"""

import numpy as np
import torch
from numpy.typing import NDArray
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
    """What ``nmrgcl.ops.triton.walk.visited_nodes`` says, for the same draws the same."""
    path = _walk(start, row_ptr, source, below, draws, restarts < p)
    limit = (ratio * size).ceil().clamp(min=1).numpy()
    some = size.numpy() > 0
    if not some.all():  # a graph without nodes has been nowhere
        path, limit = path[:, some], limit[some]
    keep = np.zeros(row_ptr.shape[0] - 1, bool)
    if ratio >= 1:  # all of a graph may be seen, so that no walk ends early
        keep[path.ravel()] = True
        return torch.from_numpy(keep)
    place, moment = path.ravel(), np.arange(len(path)).repeat(path.shape[1])
    first_seen = np.zeros(row_ptr.shape[0] - 1, np.int64)
    first_seen[place[::-1]] = moment[::-1]  # the earliest is written last
    is_new = (first_seen.take(place) == moment).reshape(path.shape)
    in_time = is_new & (is_new.cumsum(0) <= limit)
    keep[place[in_time.ravel()]] = True
    return torch.from_numpy(keep)


def _walk(
    start: Tensor, row_ptr: Tensor, source: Tensor, below: Tensor | None, draws: Tensor, restarts: Tensor
) -> NDArray[np.int64]:
    """``[steps + 1, W]`` where each walk is at each moment."""
    rows = _Rows(row_ptr.numpy(), source.numpy(), None if below is None else below.numpy())
    path = np.empty((len(draws) + 1, len(start)), np.int64)
    path[0] = here = home = start.numpy()
    for step, (draw, back) in enumerate(zip(draws.numpy(), restarts.numpy(), strict=True)):
        there = rows.source.take(rows.pick(here, draw))
        # A walk that cannot move has ended: it does not return either.
        np.copyto(there, home, where=back if rows.ends is None else back & ~rows.ends.take(here))
        here = there
        path[step + 1] = here
    return path


class _Rows:
    """The edges into each node; a node that has none gets a loop, so that a walk that arrives there stays."""

    def __init__(
        self, row_ptr: NDArray[np.int64], source: NDArray[np.int64], below: NDArray[np.float64] | None
    ) -> None:
        self.first, self.last = row_ptr[:-1], row_ptr[1:] - 1
        self.below = below
        if below is None:
            self.room = np.diff(row_ptr).astype(float)
        else:
            running = np.concatenate([[0.0], below])
            self.low = running[self.first]
            self.room = running[row_ptr[1:]] - self.low
        self.source = source
        self.ends: NDArray[np.bool_] | None = None
        alone = np.flatnonzero(self.room <= 0)
        if len(alone):
            self._add_loops(alone)

    def _add_loops(self, alone: NDArray[np.int64]) -> None:
        number = np.arange(len(alone))
        self.ends = np.zeros(len(self.room), bool)
        self.ends[alone] = True
        self.first, self.last = self.first.copy(), self.last.copy()
        self.first[alone] = self.last[alone] = len(self.source) + number
        self.room[alone] = 1.0
        if self.below is not None:
            total = self.below[-1] if len(self.below) else 0.0
            self.low[alone] = total + number
            self.below = np.concatenate([self.below, total + 1 + number])
        self.source = np.concatenate([self.source, alone])

    def pick(self, node: NDArray[np.int64], draw: NDArray[np.float64]) -> NDArray[np.int64]:
        """An edge into each ``node``, with probability proportional to its weight."""
        mark = draw * self.room.take(node)
        if self.below is None:
            return mark.astype(np.int64) + self.first.take(node)
        edge = self.below.searchsorted(mark + self.low.take(node), side="right")
        return np.minimum(edge, self.last.take(node))  # where rounding carries the mark to the row's end
