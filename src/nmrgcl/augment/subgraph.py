"""The view that keeps what a random walk visits."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from nmrgcl.augment.view import View, check_share
from nmrgcl.augment.walk_on_host import visited_nodes as on_the_host
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.ops import serve


@dataclass(frozen=True)
class Subgraph(View):
    """Keep the nodes that a random walk with restart visits, and the edges between them (Subgraph, RWS).

    The walk starts at a random node, moves along an edge with probability proportional to its weight and returns
    to its start with probability ``p``. It ends once it has seen ``ratio`` of the nodes, after ``steps`` steps, or
    at a node without neighbours.
    """

    p: float = 0.2
    ratio: float = 0.8
    steps: int = 40

    def __post_init__(self) -> None:
        check_share(self, p=self.p, ratio=self.ratio)
        if self.steps < 1:
            raise SettingError(f"Subgraph: steps = {self.steps!r} must be at least 1")

    def forward(self, graphs: Graphs, chosen: Tensor | None = None) -> Graphs:
        """All graphs walk side by side; the host, which may ask who is chosen, leaves the others out."""
        graphs = graphs.merge_added()
        if graphs.num_nodes == 0:
            return graphs
        size, first = graphs.node_counts(), graphs.node_ptr[:-1]
        on_host = graphs.device.type == "cpu"
        if on_host and chosen is not None:
            walkers = chosen.nonzero().squeeze(1)
            size, first = size.index_select(0, walkers), first.index_select(0, walkers)
        keep = self._visited(graphs, random_nodes(graphs, size, first), size)
        if chosen is not None:
            keep = keep.logical_or_(~chosen.index_select(0, graphs.batch))
        return graphs.keep_nodes(keep)

    def around(self, graphs: Graphs, start: Tensor) -> Graphs:
        """Likewise where the walk of each graph begins at the node that ``start`` (``[B]``) names."""
        graphs = graphs.merge_added()
        return graphs.keep_nodes(self._visited(graphs, start, graphs.node_counts())) if graphs.num_nodes else graphs

    def _visited(self, graphs: Graphs, start: Tensor, size: Tensor) -> Tensor:
        """``[N]`` the nodes that walks from ``start`` see in graphs of ``size`` nodes."""
        draws = torch.rand(self.steps, start.shape[0], device=graphs.device, dtype=torch.float64)
        restarts = torch.rand(self.steps, start.shape[0], device=graphs.device)
        row_ptr, source, below = graphs.row_ptr, graphs.edge_index[0], _running_weight(graphs)
        if graphs.device.type == "cpu" and not serve(start):
            return on_the_host(start, size, row_ptr, source, below, draws, restarts, p=self.p, ratio=self.ratio)
        if serve(start):
            from nmrgcl.ops.triton.walk import visited_nodes

            return visited_nodes(start, size, row_ptr, source, below, draws, restarts, p=self.p, ratio=self.ratio)
        path = _walk(start, row_ptr, source, below, draws, restarts < self.p)
        return self._seen_in_time(path, graphs, size)

    def _seen_in_time(self, path: Tensor, graphs: Graphs, size: Tensor) -> Tensor:
        """``[N]`` the nodes on the ``path`` before ``ratio`` of the graph's nodes had been seen."""
        moment = torch.arange(path.shape[0], device=graphs.device)[:, None].expand_as(path)
        # The walk of a graph without nodes is in another graph, where it must not count as having been anywhere.
        moment = torch.where(size > 0, moment, path.shape[0])
        first_seen = torch.full_like(graphs.batch, path.shape[0])
        first_seen.scatter_reduce_(0, path.flatten(), moment.flatten(), "amin")
        is_new = (first_seen[path] == moment) & (size > 0)
        in_time = is_new & (is_new.cumsum(0) <= (self.ratio * size).ceil().clamp(min=1))
        return torch.zeros_like(graphs.batch).scatter_add_(0, path.flatten(), in_time.flatten().long()) > 0


def _walk(
    start: Tensor, row_ptr: Tensor, source: Tensor, below: Tensor | None, draws: Tensor, restarts: Tensor
) -> Tensor:
    """``[steps + 1, W]`` where each walk is at each moment; for a GPU without kernels, which nobody waits for."""
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


def _running_weight(graphs: Graphs) -> Tensor | None:
    """``[E]`` float64 sums of the weights of the edges up to each, zero for those that are gone; None: all weigh 1."""
    if graphs.edge_weight is None:
        return graphs.live_edges.double().cumsum(0) if graphs.masked else None
    return (graphs.live_edges.double() * graphs.edge_weight.detach()).cumsum(0)


def random_nodes(graphs: Graphs, size: Tensor, first: Tensor) -> Tensor:
    """One kept node of each graph that has ``size`` of them from node ``first`` on, drawn evenly."""
    rank = (torch.rand(size.shape[0], device=graphs.device, dtype=torch.float64) * size).long()
    if graphs.node_keep is None:
        node = first + rank
    else:
        kept = graphs.node_keep.cumsum(0)
        rank = rank + pad(kept, (1, 0)).index_select(0, first)
        node = torch.searchsorted(kept, rank, right=True)
    return node.clamp(max=graphs.num_nodes - 1)  # a graph without nodes has no start; its walk is never used
