"""GraphCL (You et al. 2020) with the loss of its public code."""

from collections.abc import Iterator
from typing import Any, ClassVar

from torch import Tensor

from nmrgcl.augment import build_view
from nmrgcl.contrast import graphcl_loss
from nmrgcl.encode import Head
from nmrgcl.graphs import Graphs
from nmrgcl.methods import Method
from nmrgcl.settings import Settings
from nmrgcl.train import Progress


class GraphCL(Method):
    """Contrast two views of a graph with the other graphs of the batch; nothing is removed."""

    FIXED: ClassVar[dict[str, Any]] = {"loss.name": "graphcl", "removal.kind": "none"}

    def __init__(self, settings: Settings, num_features: int) -> None:
        super().__init__(settings, num_features)
        self.tau = settings.loss.tau
        self.views = [build_view(settings.views.first), build_view(settings.views.second)]
        self.head = Head(self.encoder.units, settings.head.units)

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """The published code's variant of NT-Xent."""
        z1, z2 = self.head(self.embed_views(graphs, *self.views)).chunk(2)
        yield graphcl_loss(z1, z2, tau=self.tau)


METHOD = GraphCL
