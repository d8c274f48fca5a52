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
    """Remove each undirected edge with probability ``p`` (EdgeDrop).

    Example:
        >>> import networkx as nx
        >>> from nmrgcl import DropEdges, from_networkx
        >>> DropEdges(1.0)(from_networkx(nx.path_graph(3))).compact()
        Graphs(1 graphs, 3 nodes, 0 directed edges, 1 categorical features, cpu)
    """

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

    Example:
        >>> import networkx as nx
        >>> from nmrgcl import AddEdges, from_networkx
        >>> path = from_networkx(nx.path_graph(5))  # 4 undirected edges: 8 directed ones
        >>> AddEdges(0.5)(path).compact()
        Graphs(1 graphs, 5 nodes, 12 directed edges, 1 categorical features, cpu)
    """

    p: float = 0.2

    def __post_init__(self) -> None:
        check_share(self, p=self.p)

    def forward(self, graphs: Graphs, chosen: Tensor | None = None) -> Graphs:
        """Nodes and the edges that are there stay."""
        # Pairs that an earlier view has joined are no longer free.
        graphs = graphs.merge_added()
        return graphs.with_new_edges(draw_edges(graphs, chosen, self.p)) if graphs.num_nodes else graphs
