"""Collections of graphs that feeds read from, and random samples of them."""

from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor

from nmrgcl.graphs import Graphs


class Source(Protocol):
    """A collection of graphs that can be read by index: ``Graphs``, or a store on disk."""

    @property
    def num_features(self) -> int:
        """The number of features per node."""
        ...

    def __len__(self) -> int: ...

    def sizes(self) -> tuple[Tensor, Tensor]:
        """``[B]`` nodes and directed edges of each graph, on the host."""
        ...

    def take(self, index: Tensor) -> Graphs:
        """The graphs at ``index`` (on the host), in that order."""
        ...


def count_items(source: Source, level: Literal["graph", "node"]) -> int:
    """The number of graphs or, at node level, of nodes: what batches consist of."""
    return len(source) if level == "graph" else int(source.sizes()[0].sum())


@dataclass(frozen=True, eq=False)
class Sample:
    """The graphs of ``source`` at the indices ``chosen`` (on the host), in that order."""

    source: Source
    chosen: Tensor

    @property
    def num_features(self) -> int:
        """The number of features per node."""
        return self.source.num_features

    def __len__(self) -> int:
        return len(self.chosen)

    def sizes(self) -> tuple[Tensor, Tensor]:
        """``[B]`` nodes and directed edges of each graph, on the host."""
        nodes, edges = self.source.sizes()
        return nodes[self.chosen], edges[self.chosen]

    def take(self, index: Tensor) -> Graphs:
        """The graphs at ``index`` (on the host), in that order."""
        return self.source.take(self.chosen[index])


def sample(source: Source, most: int) -> Source:
    """A random sample of ``most`` graphs in the order of ``source``; all graphs if there are no more, or for 0.

    The sample depends only on the number of graphs, so every seed trains on the same graphs, and a smaller sample is
    contained in a larger one.
    """
    if not 0 < most < len(source):
        return source
    order = torch.randperm(len(source), generator=torch.Generator().manual_seed(0))
    return Sample(source, order[:most].sort().values)
