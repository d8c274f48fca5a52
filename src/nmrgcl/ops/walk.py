"""Random walks with restart, one per graph, and which nodes they visit.

All forms visit the same nodes for the same draws. These come from outside, from torch's generator, so that a recorded
CUDA graph has new ones at every replay.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from nmrgcl.ops import on_host, serve
from nmrgcl.ops.forms import Form

PLAIN = Form("random walk", "plain", "without Triton on a device other than the CPU")
NUMPY = Form("random walk", "NumPy", "on a CPU, where a call of NumPy costs a third of PyTorch's")
KERNEL = Form("random walk", "Triton kernel", "on a GPU")
FORMS = (PLAIN, NUMPY, KERNEL)


def walking_graphs(chosen: Tensor) -> Tensor | None:
    """The numbers of the ``chosen`` graphs (``[B]``, bool), if the host knows them without waiting for a device.

    Then the others need no walk; otherwise all graphs walk, and the walks of the others are ignored.
    """
    return chosen.nonzero().squeeze(1) if on_host(chosen) else None


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
    """``[N]`` bool: what the walks see, each up to ``ratio`` of its graph's nodes (but at least one).

    A walk takes an edge with probability proportional to its weight. It ends at a node without edges.

    Args:
        start: ``[W]`` where each walk begins; ignored in a graph without nodes.
        size: ``[W]`` how many nodes the graph of each walk has.
        row_ptr: ``[N + 1]``.
        source: ``[E]``.
        below: ``[E]`` float64 running sum of the edges' weights; None means that all weigh 1.
        draws: ``[steps, W]`` float64 in [0, 1): which edge a step takes.
        restarts: ``[steps, W]`` float32 in [0, 1): a step returns to the start if it is less than ``p``.
        p: probability of a restart.
        ratio: share of the nodes after which a walk ends.
    """
    if KERNEL.on and serve(start):
        from nmrgcl.ops.triton import walk

        return walk.visited_nodes(start, size, row_ptr, source, below, draws, restarts, p=p, ratio=ratio)
    if NUMPY.on and on_host(start):
        return _visited_by_numpy(start, size, row_ptr, source, below, draws, restarts < p, ratio)
    return seen_in_time(walk_path(start, row_ptr, source, below, draws, restarts < p), size, row_ptr, ratio)


def walk_path(
    start: Tensor, row_ptr: Tensor, source: Tensor, below: Tensor | None, draws: Tensor, restarts: Tensor
) -> Tensor:
    """``[steps + 1, W]`` where each walk is at each moment; ``restarts`` (``[steps, W]``, bool): back to the start."""
    if below is None:
        below = torch.arange(1.0, source.shape[0] + 1, dtype=torch.float64, device=source.device)
    bounds = pad(below, (1, 0))[row_ptr]
    low, span = bounds[:-1], bounds.diff()
    source = pad(source, (0, 1))  # a walk that cannot move may look one beyond the last edge
    here, path = start, [start]
    for draw, restart in zip(draws.unbind(), restarts.unbind(), strict=True):
        room = span.index_select(0, here)
        edge = torch.searchsorted(below, torch.addcmul(low.index_select(0, here), draw, room), right=True)
        there = torch.where(restart, start, source.index_select(0, edge))
        here = torch.where(room > 0, there, here)
        path.append(here)
    return torch.stack(path)


def seen_in_time(path: Tensor, size: Tensor, row_ptr: Tensor, ratio: float) -> Tensor:
    """``[N]`` the nodes on the ``path`` before ``ratio`` of the graph's nodes had been seen."""
    moment = torch.arange(path.shape[0], device=path.device)[:, None].expand_as(path)
    # The walk of a graph without nodes is in another graph, where it must not count as having been anywhere.
    moment = torch.where(size > 0, moment, path.shape[0])
    first_seen = torch.full_like(row_ptr[:-1], path.shape[0])
    first_seen.scatter_reduce_(0, path.flatten(), moment.flatten(), "amin")
    is_new = (first_seen[path] == moment) & (size > 0)
    in_time = is_new & (is_new.cumsum(0) <= (ratio * size).ceil().clamp(min=1))
    return torch.zeros_like(first_seen).scatter_add_(0, path.flatten(), in_time.flatten().long()) > 0


def _visited_by_numpy(
    start: Tensor,
    size: Tensor,
    row_ptr: Tensor,
    source: Tensor,
    below: Tensor | None,
    draws: Tensor,
    restarts: Tensor,
    ratio: float,
) -> Tensor:
    rows = _Rows(row_ptr.numpy(), source.numpy(), None if below is None else below.numpy())
    path = _numpy_path(start.numpy(), rows, draws.numpy(), restarts.numpy())
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


def _numpy_path(
    start: NDArray[np.int64], rows: "_Rows", draws: NDArray[np.float64], restarts: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """What ``walk_path`` returns."""
    path = np.empty((len(draws) + 1, len(start)), np.int64)
    path[0] = here = start
    for step, (draw, back) in enumerate(zip(draws, restarts, strict=True)):
        there = rows.source.take(rows.pick(here, draw))
        # A walk that cannot move has ended: it does not return either.
        np.copyto(there, start, where=back if rows.ends is None else back & ~rows.ends.take(here))
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
        return np.minimum(edge, self.last.take(node))  # rounding may carry the mark to the end of the row
