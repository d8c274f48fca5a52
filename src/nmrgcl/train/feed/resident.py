"""All graphs on the device."""

import torch
from torch import Tensor

from nmrgcl.graphs import Graphs
from nmrgcl.train.feed.buffers import Buffers, BufferSizes
from nmrgcl.train.feed.feed import Feed
from nmrgcl.train.feed.order import batches
from nmrgcl.train.feed.source import Source


class Resident(Feed):
    """A batch is a gather on the device; a ``chunk`` affects only the order of batches."""

    padded = True

    def __init__(self, source: Source, device: torch.device, batch_size: int, chunk: int = 0) -> None:
        super().__init__(source.to(device) if isinstance(source, Graphs) else moved(source, device))
        self.items, self.batch_size, self.chunk = self.graphs.num_graphs, batch_size, chunk

    def cut(self) -> list[Tensor]:
        """Random batches of graphs."""
        return batches(self.items, self.batch_size, self.chunk)


def moved(source: Source, device: torch.device) -> Graphs:
    """All graphs of ``source`` on ``device``; the host never holds more than a part of them."""
    nodes, edges = source.sizes()
    extent = BufferSizes(len(source), int(nodes.sum()), int(edges.sum()))
    return Buffers(source.take(torch.arange(0)), extent, device).fill(source, torch.arange(len(source)))
