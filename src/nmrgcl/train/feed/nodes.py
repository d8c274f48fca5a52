"""One graph whose nodes are embedded: every step sees all of it, or a sample around some of its nodes."""

import torch
from torch import Tensor

from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs
from nmrgcl.settings import TrainSettings
from nmrgcl.train.feed.feed import Feed
from nmrgcl.train.feed.order import batches
from nmrgcl.train.feed.sampling import induced, neighbour_nodes, walk_nodes
from nmrgcl.train.feed.source import Source


class WholeGraph(Feed):
    """Every batch is the whole graph."""

    padded, constant = False, True

    def __init__(self, graphs: Graphs) -> None:
        super().__init__(graphs)
        self.items = graphs.num_nodes

    def cut(self) -> list[Tensor]:
        """One batch, which is everything."""
        return [torch.arange(self.graphs.num_graphs)]

    def take(self, graphs: Graphs, index: Tensor) -> Graphs:
        """The whole graph."""
        return graphs


class SampledGraph(WholeGraph):
    """A batch consists of some root nodes, the nodes sampled around them, and all edges between these nodes."""

    constant = False

    def __init__(self, graphs: Graphs, options: TrainSettings) -> None:
        super().__init__(graphs)
        self.options = options

    def cut(self) -> list[Tensor]:
        """Random batches of root nodes."""
        return batches(self.items, self.options.batch_size)

    def take(self, graphs: Graphs, index: Tensor) -> Graphs:
        """The subgraph sampled around the roots ``index``."""
        roots, options = index.to(graphs.device), self.options
        if options.sampling == "walk":
            return induced(graphs, walk_nodes(graphs, roots, options.hops))
        return induced(graphs, neighbour_nodes(graphs, roots, options.hops, options.fanout))


def open_node_feed(source: Source, device: torch.device, options: TrainSettings) -> WholeGraph:
    """A feed of the nodes of ``source`` on ``device``, sampled as ``options.sampling`` says."""
    graphs = source if isinstance(source, Graphs) else source.take(torch.arange(len(source)))
    if graphs.num_nodes < 2:
        raise DataError(f"contrast needs at least two nodes; the graph has {graphs.num_nodes}")
    graphs = graphs.to(device)
    return WholeGraph(graphs) if options.sampling == "none" else SampledGraph(graphs, options)
