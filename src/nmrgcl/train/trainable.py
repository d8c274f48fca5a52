"""What the loop asks of a method: to be trained batch by batch, or to fit all graphs at once."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar, Literal

from torch import Tensor, nn

from nmrgcl.graphs import Graphs
from nmrgcl.settings import TrainSettings
from nmrgcl.train.optimiser import Optimiser
from nmrgcl.train.progress import Progress


class Fittable(nn.Module, ABC):
    """Fits graphs or the nodes of one (``level``) at once, without epochs."""

    level: Literal["graph", "node"]

    @abstractmethod
    def fit(self, graphs: Graphs) -> None:
        """Find what embeddings need to know of ``graphs``; what is drawn at random is drawn from torch or NumPy."""


class Trainable(nn.Module, ABC):
    """Embeds graphs or the nodes of one (``level``), and says how it is trained.

    What it keeps from batch to batch (a queue, a teacher, counters) lives in buffers and is updated in place: then
    checkpoints hold it, and steps can be recorded.
    """

    CAPTURABLE: ClassVar[bool] = True
    """Whether a step can be recorded on a GPU. One that depends on ``progress`` or on other Python values cannot."""

    level: Literal["graph", "node"]

    @property
    def capturable(self) -> bool:
        """Whether its steps can be recorded, with the parts that it has."""
        return self.CAPTURABLE

    @abstractmethod
    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """Yield the losses of one batch; an optimiser steps after each of them, all ``optimisers`` in turn."""

    def optimisers(self, options: TrainSettings) -> list[Optimiser]:
        """Adam over everything. Where there are several, the first one's losses are those that an epoch reports."""
        schedule, warmup, decay = options.schedule, options.warmup, options.weight_decay
        return [Optimiser(self.parameters(), lr=options.lr, schedule=schedule, warmup=warmup, weight_decay=decay)]

    def require_sizes(self, nodes: Tensor, edges: Tensor) -> None:
        """Refuse graphs that it cannot be trained on, before the first epoch.

        ``nodes`` and ``edges`` (``[B]``, on the host) say how many each graph has.
        """

    def survey(self, batches: Iterator[Graphs], progress: Progress) -> None:
        """Look at the data once per epoch, before its first batch: at all ``batches`` of the epoch or the first few.

        They come in the order in which they will be trained on, each with the same graphs, and are read only as far as
        they are asked for. There is no gradient. An epoch that is resumed is not surveyed again, so that what is found
        lives in buffers, which keep their shapes from the first survey on.
        """

    def begin_epoch(self, progress: Progress) -> None:
        """Do what is done once per epoch, before its first batch; an epoch that is resumed does not begin again."""
