"""What one step of the loop trains on: some graphs, a whole graph, or a part of it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs
from nmrgcl.sampling import induced, neighbour_nodes, walk_nodes
from nmrgcl.settings import TrainSettings


@dataclass(frozen=True)
class Batches:
    """How an epoch is cut.

    Attributes:
        items: graphs or nodes, of which an epoch sees each once.
        cut: draws the batches of an epoch as numbers of items, on the host.
        take: the graphs of a batch.
        padded: whether ``Graphs.take_padded`` makes batches of one size of them, so that a step can be recorded.
    """

    items: int
    cut: Callable[[], list[Tensor]]
    take: Callable[[Tensor], Graphs]
    padded: bool


def batches_of(graphs: Graphs, options: TrainSettings, level: Literal["graph", "node"]) -> Batches:
    """Random batches of graphs; at node level the one graph as a whole, or sampled around random batches of nodes."""
    if level == "graph":
        if graphs.num_graphs < 2:
            raise DataError(f"contrast needs at least two graphs; the dataset has {graphs.num_graphs}")
        return Batches(
            graphs.num_graphs, lambda: list(batches(graphs.num_graphs, options.batch_size)), graphs.take, padded=True
        )
    if graphs.num_nodes < 2:
        raise DataError(f"contrast needs at least two nodes; the graph has {graphs.num_nodes}")
    if options.sampling == "none":
        return Batches(graphs.num_nodes, lambda: [torch.arange(graphs.num_graphs)], lambda index: graphs, padded=False)

    def around(index: Tensor) -> Graphs:
        roots = index.to(graphs.device)
        if options.sampling == "walk":
            return induced(graphs, walk_nodes(graphs, roots, options.hops))
        return induced(graphs, neighbour_nodes(graphs, roots, options.hops, options.fanout))

    return Batches(graphs.num_nodes, lambda: list(batches(graphs.num_nodes, options.batch_size)), around, padded=False)


def batches(count: int, batch_size: int) -> Iterator[Tensor]:
    """Random batches of graphs or nodes, on the host; a last batch of one, which has no negatives, is left out."""
    for part in torch.randperm(count).split(batch_size):
        if part.shape[0] > 1:
            yield part
