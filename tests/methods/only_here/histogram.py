"""Fits without training: a graph is the histogram of its degrees."""

import torch
from torch import Tensor

from nmrgcl.graphs import Graphs
from nmrgcl.methods import Embedder
from nmrgcl.settings import Settings


class Histogram(Embedder):
    """The share of nodes with each degree; those above the largest one seen in ``fit`` are counted together."""

    largest: Tensor

    def __init__(self, settings: Settings, num_features: int) -> None:
        super().__init__(settings, num_features)
        self.register_buffer("largest", torch.zeros((), dtype=torch.long))

    @property
    def width(self) -> int:
        return int(self.largest) + 2

    def fit(self, graphs: Graphs) -> None:
        self.largest.copy_(degrees(graphs).max())

    def embed(self, graphs: Graphs) -> Tensor:
        column = degrees(graphs).clamp(max=self.largest + 1)
        counts = torch.zeros(graphs.num_graphs, self.width, device=graphs.device)
        counts.index_put_((graphs.batch, column), torch.ones(1, device=graphs.device), accumulate=True)
        return counts / counts.sum(1, keepdim=True).clamp(min=1)


def degrees(graphs: Graphs) -> Tensor:
    graphs = graphs.compact()
    return torch.bincount(graphs.edge_index[1], minlength=graphs.num_nodes)


METHOD = Histogram
