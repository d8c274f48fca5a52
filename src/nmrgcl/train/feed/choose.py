"""Choose a feed: decide whether all graphs fit on the device."""

from typing import Literal

import torch

from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs
from nmrgcl.memory import available_bytes
from nmrgcl.settings import TrainSettings
from nmrgcl.train.feed.buffers import Buffers, BufferSizes
from nmrgcl.train.feed.chunks import Chunks
from nmrgcl.train.feed.feed import Feed
from nmrgcl.train.feed.nodes import open_node_feed
from nmrgcl.train.feed.resident import Resident
from nmrgcl.train.feed.source import Source

SHARE = 0.5
"""The share of free memory that graphs may take; the rest is left for training."""
CHUNK_BYTES = 128 << 20
"""The size of a chunk: large compared with a batch, small compared with any memory. It decides the order of batches."""


def open_feed(
    source: Source,
    device: torch.device,
    options: TrainSettings,
    level: Literal["graph", "node"] = "graph",
    chunk: int | None = None,
) -> Feed:
    """A feed of batches of graphs or, at node level, of the one graph as a whole or sampled around some nodes.

    ``chunk`` graphs are on ``device`` at a time; 0: all of them; None: all if they fit, else a usual chunk.
    """
    if level == "node":
        return open_node_feed(source, device, options)
    batch_size = options.batch_size
    if len(source) < 2:
        raise DataError(f"contrast needs at least two graphs; the dataset has {len(source)}")
    if chunk is None:
        chunk = wanted_chunk(source, device)
    # Rounded up to whole batches, so that no batch spans two chunks.
    chunk = -(-chunk // batch_size) * batch_size
    if not 0 < chunk < len(source):
        return Resident(source, device, batch_size)
    # Graphs on the device stay there; the chunk then decides only the order, so that the same batches come anywhere.
    there = isinstance(source, Graphs) and source.device.type == device.type
    return Resident(source, device, batch_size, chunk) if there else Chunks(source, device, chunk, batch_size)


def wanted_chunk(source: Source, device: torch.device) -> int:
    """The number of graphs to keep on ``device`` at a time; 0 if all of them fit."""
    return 0 if fit(source, device) else usual_chunk(source)


def fit(source: Source, device: torch.device) -> bool:
    """Whether the graphs are already on ``device``, or fit into its free memory."""
    if isinstance(source, Graphs) and source.device.type == device.type:
        return True
    return tensor_bytes(source) <= SHARE * available_bytes(device)


def usual_chunk(source: Source) -> int:
    """The usual number of graphs per chunk; it depends on the source only, so that runs can be repeated anywhere."""
    return max(1, CHUNK_BYTES * len(source) // max(1, tensor_bytes(source)))


def tensor_bytes(source: Source) -> int:
    """The size of all graphs as tensors in bytes."""
    nodes, edges = source.sizes()
    extent = BufferSizes(len(source), int(nodes.sum()), int(edges.sum()))
    # Tensors on the meta device have a size but no memory.
    return Buffers(source.take(torch.arange(0)), extent, torch.device("meta")).nbytes
