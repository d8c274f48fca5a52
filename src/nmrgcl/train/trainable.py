"""The interfaces between the loop and methods: trained batch by batch, or fitted to all graphs at once."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar, Literal

from torch import Tensor, nn

from nmrgcl.graphs import Graphs
from nmrgcl.settings import TrainSettings
from nmrgcl.train.optimiser import Optimiser
from nmrgcl.train.progress import Progress


class Fittable(nn.Module, ABC):
    """A method that is fitted to all graphs, or to all nodes of one graph, at once and without epochs."""

    level: Literal["graph", "node"]

    @abstractmethod
    def fit(self, graphs: Graphs) -> None:
        """Fit the method to ``graphs``; random numbers must come from the global generators of torch or NumPy."""


class Trainable(nn.Module, ABC):
    """A method that embeds graphs, or the nodes of one graph, and defines how it is trained.

    State that persists between batches (a queue, a teacher, counters) must live in buffers and be updated in place, so
    that checkpoints include it and steps can be recorded.
    """

    CAPTURABLE: ClassVar[bool] = True
    """Whether a step can be recorded on a GPU. A step that depends on ``progress`` or other Python values cannot."""

    ACROSS_RANKS: ClassVar[bool] = False
    """Whether batches may be divided among ranks: means and negatives are then those of ``nmrgcl.ops.across_ranks``."""

    level: Literal["graph", "node"]

    @property
    def capturable(self) -> bool:
        """Whether the steps of this instance, with its encoder and views, can be recorded."""
        return self.CAPTURABLE

    @abstractmethod
    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """Yield the losses of one batch; after each of them, the next of the ``optimisers`` takes a step, in turn."""

    def optimisers(self, options: TrainSettings) -> list[Optimiser]:
        """One Adam for all parameters. If a method has several optimisers, epochs report the losses of the first."""
        schedule, warmup, decay = options.schedule, options.warmup, options.weight_decay
        return [Optimiser(self.parameters(), lr=options.lr, schedule=schedule, warmup=warmup, weight_decay=decay)]

    def require_sizes(self, nodes: Tensor, edges: Tensor) -> None:
        """Refuse graphs that the method cannot be trained on; called before the first epoch.

        ``nodes`` and ``edges`` (``[B]``, on the host) are the numbers of nodes and edges of each graph.
        """

    def survey(self, batches: Iterator[Graphs], progress: Progress) -> None:
        """Look at the data once per epoch, before its first batch: at all ``batches`` of the epoch or the first few.

        The batches are those that will be trained on, in the same order, and are read only as they are requested.
        Gradients are disabled. A resumed epoch is not surveyed again, so results must be stored in buffers, whose
        shapes must not change after the first survey.
        """

    def begin_epoch(self, progress: Progress) -> None:
        """Called once per epoch, before its first batch; not called again when an epoch is resumed."""
