"""The view that keeps what a random walk visits."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from nmrgcl.augment.view import View, check_share
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.ops.walk import visited_nodes, walking_graphs


@dataclass(frozen=True)
class Subgraph(View):
    """Keep the nodes that a random walk with restart visits, and the edges between them (Subgraph, RWS).

    The walk starts at a random node, moves along an edge with probability proportional to its weight and returns
    to its start with probability ``p``. It ends once it has seen ``ratio`` of the nodes, after ``steps`` steps, or
    at a node without neighbours.

    Example:
        >>> import networkx as nx
        >>> from nmrgcl import Subgraph, from_networkx
        >>> cycle = from_networkx(nx.cycle_graph(10))
        >>> 1 <= Subgraph(ratio=0.5)(cycle).compact().num_nodes <= 5
        True
    """

    p: float = 0.2
    ratio: float = 0.8
    steps: int = 40

    def __post_init__(self) -> None:
        check_share(self, p=self.p, ratio=self.ratio)
        if self.steps < 1:
            raise SettingError(f"Subgraph: steps = {self.steps!r} must be at least 1")

    def forward(self, graphs: Graphs, chosen: Tensor | None = None) -> Graphs:
        """All graphs walk side by side."""
        graphs = graphs.merge_added()
        if graphs.num_nodes == 0:
            return graphs
        size, first = graphs.node_counts(), graphs.node_ptr[:-1]
        walkers = None if chosen is None else walking_graphs(chosen)
        if walkers is not None:
            size, first = size.index_select(0, walkers), first.index_select(0, walkers)
        keep = self._visited(graphs, random_nodes(graphs, size, first), size)
        if chosen is not None:
            keep = keep.logical_or_(~chosen.index_select(0, graphs.batch))
        return graphs.keep_nodes(keep)

    def around(self, graphs: Graphs, start: Tensor) -> Graphs:
        """The same with a walk that begins at the node that ``start`` (``[B]``) names for each graph."""
        graphs = graphs.merge_added()
        return graphs.keep_nodes(self._visited(graphs, start, graphs.node_counts())) if graphs.num_nodes else graphs

    def _visited(self, graphs: Graphs, start: Tensor, size: Tensor) -> Tensor:
        """``[N]`` the nodes that walks from ``start`` see in graphs of ``size`` nodes."""
        # In float64, because draws are compared with a sum that runs over the edges of the whole batch.
        draws = torch.rand(self.steps, start.shape[0], device=graphs.device, dtype=torch.float64)
        restarts = torch.rand(self.steps, start.shape[0], device=graphs.device)
        edges = graphs.row_ptr, graphs.edge_index[0], running_weight(graphs)
        return visited_nodes(start, size, *edges, draws, restarts, p=self.p, ratio=self.ratio)


def running_weight(graphs: Graphs) -> Tensor | None:
    """``[E]`` float64 running sum of the edges' weights, removed edges weighing 0; None means that all weigh 1."""
    if graphs.edge_weight is None:
        return graphs.live_edges.double().cumsum(0) if graphs.masked else None
    # A walk is a choice, through which no gradient can flow.
    return (graphs.live_edges.double() * graphs.edge_weight.detach()).cumsum(0)


def random_nodes(graphs: Graphs, size: Tensor, first: Tensor) -> Tensor:
    """One kept node of each graph that has ``size`` of them from node ``first`` on, drawn evenly."""
    rank = (torch.rand(size.shape[0], device=graphs.device, dtype=torch.float64) * size).long()
    if graphs.node_keep is None:
        node = first + rank
    else:
        kept = graphs.node_keep.cumsum(0)
        # Ranks count the kept nodes of the whole batch, so one search serves all graphs.
        rank = rank + pad(kept, (1, 0)).index_select(0, first)
        node = torch.searchsorted(kept, rank, right=True)
    return node.clamp(max=graphs.num_nodes - 1)  # a graph without nodes has no start; its walk is never used
