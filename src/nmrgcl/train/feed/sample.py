"""Some graphs of a source, drawn at random."""

from dataclasses import dataclass

import torch
from torch import Tensor

from nmrgcl.graphs import Graphs
from nmrgcl.train.feed.source import Source


@dataclass(frozen=True, eq=False)
class Sample:
    """The graphs of ``source`` that ``chosen`` (on the host) names, in that order."""

    source: Source
    chosen: Tensor

    @property
    def num_features(self) -> int:
        """Of each node."""
        return self.source.num_features

    def __len__(self) -> int:
        return len(self.chosen)

    def sizes(self) -> tuple[Tensor, Tensor]:
        """``[B]`` nodes and directed edges of each graph, on the host."""
        nodes, edges = self.source.sizes()
        return nodes[self.chosen], edges[self.chosen]

    def take(self, index: Tensor) -> Graphs:
        """The graphs that ``index`` (on the host) names, in that order."""
        return self.source.take(self.chosen[index])


def sample(source: Source, most: int) -> Source:
    """``most`` graphs of ``source``, in its order; all of them where there are no more, or ``most`` is 0.

    Each graph is equally likely to be drawn. The sample depends on the number of graphs alone, so that every seed
    trains on the same graphs, and a smaller sample is a part of a larger one.
    """
    if not 0 < most < len(source):
        return source
    order = torch.randperm(len(source), generator=torch.Generator().manual_seed(0))
    return Sample(source, order[:most].sort().values)
