"""The base class of feeds, which provide the training loop with batches."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from nmrgcl.graphs import Graphs, Room


class Feed(ABC):
    """Provides batches of graphs, or of the nodes of one graph, on the training device.

    This class assumes that all graphs are on the device.

    Attributes:
        device: the device.
        items: the number of graphs or nodes; an epoch sees each of them once.
        chunk: how many graphs are shuffled among themselves, which decides the order of batches; 0 for all of them.
        parts: the batches of the current epoch, as indices on the host.
        padded: whether ``Graphs.take_padded`` makes batches of one size, so that a step can be recorded.
        constant: whether every batch is all of ``lasting()``.
    """

    device: torch.device
    items: int
    chunk: int = 0
    parts: list[Tensor]
    padded: bool
    constant: bool = False

    def __init__(self, graphs: Graphs) -> None:
        self.graphs, self.device, self.parts = graphs, graphs.device, []

    @abstractmethod
    def cut(self) -> list[Tensor]:
        """Draw the batches of an epoch, as indices on the host."""

    def begin(self, parts: list[Tensor], position: int) -> None:
        """Start an epoch of the batches ``parts`` with the one at ``position``."""
        self.parts = parts

    def batch(self, position: int) -> tuple[Graphs, Tensor]:
        """Graphs on the device and, on the host, the indices of those that make up the batch."""
        return self.graphs, self.parts[position]

    def take(self, graphs: Graphs, index: Tensor) -> Graphs:
        """The batch that consists of ``graphs[index]``, as ``batch`` returned them."""
        return graphs.take(index)

    def lasting(self) -> Graphs:
        """Graphs whose tensors stay at the same addresses as long as the feed is open."""
        return self.graphs

    def room(self, batch_size: int) -> Room:
        """The size to which batches are padded: room for almost all of them."""
        return self.graphs.room_for(batch_size)

    def close(self) -> None:  # noqa: B027 - most feeds have nothing to do
        """Release what the feed holds; no more batches will be requested."""
