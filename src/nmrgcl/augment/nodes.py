"""Views that act on nodes."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from nmrgcl.augment.view import View, check_share
from nmrgcl.graphs import Graphs
from nmrgcl.ops.masks import keep_drawn_nodes
from nmrgcl.sparse_rows import permute_rows


@dataclass(frozen=True)
class DropNodes(View):
    """Remove each node with probability ``p``, with its features and the edges it touches (NodeDrop).

    Example:
        >>> import networkx as nx
        >>> from nmrgcl import DropNodes, from_networkx
        >>> graphs = from_networkx([nx.path_graph(3), nx.path_graph(5)])
        >>> DropNodes(1.0)(graphs).compact()  # a graph never loses its last node
        Graphs(2 graphs, 2 nodes, 0 directed edges, 1 categorical features, cpu)
    """

    p: float = 0.2

    def __post_init__(self) -> None:
        check_share(self, p=self.p)

    def forward(self, graphs: Graphs, chosen: Tensor | None = None) -> Graphs:
        """If chance would remove every node of a graph, one of them, drawn evenly, stays."""
        draw = torch.rand(graphs.num_nodes, device=graphs.device)
        kept = keep_drawn_nodes(draw, graphs.batch, graphs.node_ptr, graphs.node_keep, chosen, self.p)
        return replace(graphs, node_keep=kept)


@dataclass(frozen=True)
class ShuffleNodes(View):
    """Permute the feature rows of a ``p``-portion of each graph's nodes among themselves (NodeShuffling).

    Example:
        >>> import torch
        >>> from nmrgcl import Graphs, ShuffleNodes
        >>> path = Graphs.build(torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 2]), x=torch.tensor([[1.0], [2.0]]))
        >>> sorted(ShuffleNodes(1.0)(path).x.flatten().tolist())  # the same features, on other nodes
        [1.0, 2.0]
    """

    p: float = 0.2

    def __post_init__(self) -> None:
        check_share(self, p=self.p)

    def forward(self, graphs: Graphs, chosen: Tensor | None = None) -> Graphs:
        """Edges and the other nodes' features stay."""
        # Removed nodes are not counted, and draw_nodes lists them last, so they exchange nothing.
        count = (self.p * graphs.node_counts()).round().long()
        if chosen is not None:
            count = count * chosen
        # The first `count` of a graph in random order exchange rows with the same nodes in their own order.
        shuffled, moved = draw_nodes(graphs, count)
        is_moved = torch.zeros_like(moved).index_copy_(0, shuffled, moved)
        in_order = torch.argsort(2 * graphs.batch + ~is_moved, stable=True)
        source = torch.where(moved, shuffled, in_order)
        row = torch.empty_like(source).index_copy_(0, in_order, source)
        return replace(graphs, x=permute_rows(graphs.x, row))


def draw_nodes(graphs: Graphs, count: Tensor) -> tuple[Tensor, Tensor]:
    """``[N]`` the nodes of each graph in random order, removed ones last, and ``[N]`` whether each of these is drawn.

    The first ``count`` (``[B]``) of each graph are.
    """
    # In float64: added to twice the number of the graph, a draw in float32 would lose its digits in a large batch.
    draw = torch.rand(graphs.num_nodes, device=graphs.device, dtype=torch.float64)
    if graphs.node_keep is not None:
        # From 1 to 2: after the kept nodes of the graph, before the next graph.
        draw = draw + ~graphs.node_keep
    place = torch.arange(graphs.num_nodes, device=graphs.device) - graphs.node_ptr[graphs.batch]
    return torch.argsort(2 * graphs.batch + draw), place < count.index_select(0, graphs.batch)
