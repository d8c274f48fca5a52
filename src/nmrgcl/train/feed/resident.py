"""All graphs on the device."""

import torch
from torch import Tensor

from nmrgcl.graphs import Graphs, Room
from nmrgcl.train.feed.buffers import Buffers, BufferSizes
from nmrgcl.train.feed.order import batches
from nmrgcl.train.feed.source import Source


class Resident:
    """A batch is a gather on the device; with a ``chunk`` only the order of batches is that of chunks."""

    padded, constant = True, False

    def __init__(self, source: Source, device: torch.device, batch_size: int, chunk: int = 0) -> None:
        self.batch_size, self.chunk = batch_size, chunk
        self.graphs = source.to(device) if isinstance(source, Graphs) else moved(source, device)
        self.device, self.items = self.graphs.device, self.graphs.num_graphs
        self.parts: list[Tensor] = []

    def cut(self) -> list[Tensor]:
        """Draw the batches of an epoch, as numbers of graphs, on the host."""
        return batches(self.items, self.batch_size, self.chunk)

    def begin(self, parts: list[Tensor], position: int) -> None:
        """These are the batches of an epoch; it starts with the one at ``position``."""
        self.parts = parts

    def batch(self, position: int) -> tuple[Graphs, Tensor]:
        """Graphs on the device and, on the host, the numbers among them of those that make up the batch."""
        return self.graphs, self.parts[position]

    def take(self, graphs: Graphs, index: Tensor) -> Graphs:
        """The graphs that ``index`` names."""
        return graphs.take(index)

    def lasting(self) -> Graphs:
        """Graphs whose tensors stay where they are for as long as the feed is open."""
        return self.graphs

    def room(self, batch_size: int) -> Room:
        """For a padded batch."""
        return self.graphs.room_for(batch_size)

    def close(self) -> None:
        """Nothing is under way."""


def moved(source: Source, device: torch.device) -> Graphs:
    """All graphs of ``source`` on ``device``; the host never holds more than some of them."""
    nodes, edges = source.sizes()
    extent = BufferSizes(len(source), int(nodes.sum()), int(edges.sum()))
    return Buffers(source.take(torch.arange(0)), extent, device).fill(source, torch.arange(len(source)))
