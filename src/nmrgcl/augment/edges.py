"""Views that act on edges; an undirected edge comes and goes in both directions."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from nmrgcl.augment.view import View, check_share
from nmrgcl.graphs import Graphs
from nmrgcl.ops.masks import keep_drawn_edges
from nmrgcl.ops.new_edges import draw_edges


@dataclass(frozen=True)
class DropEdges(View):
    """Remove each undirected edge with probability ``p`` (EdgeDrop)."""

    p: float = 0.2

    def __post_init__(self) -> None:
        check_share(self, p=self.p)

    def forward(self, graphs: Graphs, chosen: Tensor | None = None) -> Graphs:
        """Edges that an earlier view added are edges like any other."""
        draw = torch.rand(graphs.num_edges, device=graphs.device)
        destination, before = graphs.edge_index[1], graphs.edge_keep
        kept = keep_drawn_edges(draw, graphs.pair, destination, graphs.batch, before, chosen, self.p)
        graphs = replace(graphs, edge_keep=kept)
        if graphs.added is None:
            return graphs
        # The second half of what is added is the first, reversed.
        pair = torch.arange(graphs.added.shape[1] // 2, device=graphs.device).repeat(2)
        draw = torch.rand(graphs.added.shape[1] // 2, device=graphs.device).repeat(2)
        destination, before = graphs.added[1], graphs.added_keep
        kept = keep_drawn_edges(draw, pair, destination, graphs.batch, before, chosen, self.p)
        return replace(graphs, added_keep=kept)


@dataclass(frozen=True)
class AddEdges(View):
    """Add ``round(p · |E|)`` undirected edges between nodes of a graph that are not adjacent (EdgeAdd).

    There are no self-loops and no duplicates, and fewer edges if there are fewer free pairs. The pairs are an even draw
    without replacement.
    """

    p: float = 0.2

    def __post_init__(self) -> None:
        check_share(self, p=self.p)

    def forward(self, graphs: Graphs, chosen: Tensor | None = None) -> Graphs:
        """Nodes and the edges that are there stay."""
        graphs = graphs.merge_added()
        return graphs.with_new_edges(draw_edges(graphs, chosen, self.p)) if graphs.num_nodes else graphs
