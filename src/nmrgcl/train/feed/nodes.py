"""One graph whose nodes are trained on: all of it at every step, or what is sampled around some of its nodes."""

import torch
from torch import Tensor

from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs, Room
from nmrgcl.settings import TrainSettings
from nmrgcl.train.feed.order import batches
from nmrgcl.train.feed.sampling import induced, neighbour_nodes, walk_nodes
from nmrgcl.train.feed.source import Source


class WholeGraph:
    """A batch is everything there is."""

    padded, constant, chunk = False, True, 0

    def __init__(self, graphs: Graphs) -> None:
        self.graphs, self.device, self.items = graphs, graphs.device, graphs.num_nodes
        self.parts: list[Tensor] = []

    def cut(self) -> list[Tensor]:
        """One batch, of all graphs."""
        return [torch.arange(self.graphs.num_graphs)]

    def begin(self, parts: list[Tensor], position: int) -> None:
        """These are the batches of an epoch; it starts with the one at ``position``."""
        self.parts = parts

    def batch(self, position: int) -> tuple[Graphs, Tensor]:
        """The graph and, on the host, what the batch is made of."""
        return self.graphs, self.parts[position]

    def take(self, graphs: Graphs, index: Tensor) -> Graphs:
        """What a step sees."""
        return graphs

    def lasting(self) -> Graphs:
        """Graphs whose tensors stay where they are for as long as the feed is open."""
        return self.graphs

    def room(self, batch_size: int) -> Room:
        """For all of it."""
        return Room(self.graphs.num_nodes, self.graphs.num_edges)

    def close(self) -> None:
        """Nothing is under way."""


class SampledGraph(WholeGraph):
    """A batch is some nodes, what was sampled around them, and the edges between all of these."""

    constant = False

    def __init__(self, graphs: Graphs, options: TrainSettings) -> None:
        super().__init__(graphs)
        self.options = options

    def cut(self) -> list[Tensor]:
        """Random batches of nodes."""
        return batches(self.items, self.options.batch_size)

    def take(self, graphs: Graphs, index: Tensor) -> Graphs:
        """Around the nodes that ``index`` names."""
        roots, options = index.to(graphs.device), self.options
        if options.sampling == "walk":
            return induced(graphs, walk_nodes(graphs, roots, options.hops))
        return induced(graphs, neighbour_nodes(graphs, roots, options.hops, options.fanout))


def open_node_feed(source: Source, device: torch.device, options: TrainSettings) -> WholeGraph:
    """The nodes of ``source`` on ``device``, as ``options.sampling`` says."""
    graphs = source if isinstance(source, Graphs) else source.take(torch.arange(len(source)))
    if graphs.num_nodes < 2:
        raise DataError(f"contrast needs at least two nodes; the graph has {graphs.num_nodes}")
    graphs = graphs.to(device)
    return WholeGraph(graphs) if options.sampling == "none" else SampledGraph(graphs, options)
