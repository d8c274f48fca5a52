"""Whether all graphs fit on the device."""

from typing import Literal, Protocol

import torch
from torch import Tensor

from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs, Room
from nmrgcl.memory import available_bytes
from nmrgcl.settings import TrainSettings
from nmrgcl.train.feed.buffers import Buffers, BufferSizes
from nmrgcl.train.feed.chunks import Chunks
from nmrgcl.train.feed.nodes import open_node_feed
from nmrgcl.train.feed.resident import Resident
from nmrgcl.train.feed.source import Source

SHARE = 0.5
"""Of the memory that is free, what graphs may take; the rest is the training's."""
CHUNK_BYTES = 128 << 20
"""A chunk of graphs as tensors: large beside a batch, small beside any memory. It decides the order of batches."""


class Feed(Protocol):
    """What the loop asks of either."""

    device: torch.device
    items: int
    """Graphs or nodes, of which an epoch sees each once."""
    chunk: int
    parts: list[Tensor]
    padded: bool
    """Whether ``Graphs.take_padded`` makes batches of one size, so that a step can be recorded."""
    constant: bool
    """Whether every batch is all of ``lasting()``."""

    def cut(self) -> list[Tensor]:
        """Draw the batches of an epoch, as numbers of items, on the host."""
        ...

    def begin(self, parts: list[Tensor], position: int) -> None:
        """These are the batches of an epoch; it starts with the one at ``position``."""
        ...

    def batch(self, position: int) -> tuple[Graphs, Tensor]:
        """Graphs on the device and, on the host, the numbers among them of those that make up the batch."""
        ...

    def take(self, graphs: Graphs, index: Tensor) -> Graphs:
        """The batch that ``batch`` has told of."""
        ...

    def lasting(self) -> Graphs:
        """Graphs whose tensors stay where they are for as long as the feed is open."""
        ...

    def room(self, batch_size: int) -> Room:
        """For a padded batch of any graphs."""
        ...

    def close(self) -> None:
        """No more batches are wanted."""
        ...


def open_feed(
    source: Source,
    device: torch.device,
    options: TrainSettings,
    level: Literal["graph", "node"] = "graph",
    chunk: int | None = None,
) -> Feed:
    """What a step sees: some graphs of ``source``; at node level the one graph as a whole, or sampled around nodes.

    ``chunk`` graphs are on ``device`` at a time, 0 for all; None: all of them if they fit.
    """
    if level == "node":
        return open_node_feed(source, device, options)
    batch_size = options.batch_size
    if len(source) < 2:
        raise DataError(f"contrast needs at least two graphs; the dataset has {len(source)}")
    if chunk is None:
        chunk = 0 if fit(source, device) else usual_chunk(source)
    chunk = -(-chunk // batch_size) * batch_size
    if not 0 < chunk < len(source):
        return Resident(source, device, batch_size)
    there = isinstance(source, Graphs) and source.device.type == device.type
    return Resident(source, device, batch_size, chunk) if there else Chunks(source, device, chunk, batch_size)


def fit(source: Source, device: torch.device) -> bool:
    """Whether the graphs are on ``device`` already, or may be brought there."""
    if isinstance(source, Graphs) and source.device.type == device.type:
        return True
    return tensor_bytes(source) <= SHARE * available_bytes(device)


def usual_chunk(source: Source) -> int:
    """A number of graphs that depends on the source alone."""
    return max(1, CHUNK_BYTES * len(source) // max(1, tensor_bytes(source)))


def tensor_bytes(source: Source) -> int:
    """Of all graphs as tensors."""
    nodes, edges = source.sizes()
    extent = BufferSizes(len(source), int(nodes.sum()), int(edges.sum()))
    return Buffers(source.take(torch.arange(0)), extent, torch.device("meta")).nbytes
