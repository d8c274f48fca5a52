"""GRACE (Zhu et al. 2020): every other node, in both views, is a negative; Eq. 14 without removal."""

from collections.abc import Iterator
from typing import Any, ClassVar

from torch import Tensor, nn

from nmrgcl.augment import build_view
from nmrgcl.contrast import infonce
from nmrgcl.encode import Head
from nmrgcl.graphs import Graphs
from nmrgcl.methods import Level, Method
from nmrgcl.settings import Settings
from nmrgcl.train import Progress


class GRACE(Method):
    """Contrast the two views of a node with all other nodes; edges are dropped and feature columns masked."""

    FIXED: ClassVar[dict[str, Any]] = {"loss.name": "infonce", "removal.kind": "none"}
    PRESETS: ClassVar[dict[Level, str]] = {"node": "grace"}

    def __init__(self, settings: Settings, num_features: int) -> None:
        super().__init__(settings, num_features)
        self.tau = settings.loss.tau
        self.views = [build_view(settings.views.first), build_view(settings.views.second)]
        self.head = Head(self.encoder.units, settings.head.units, nn.ELU)

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """Both directions, negatives within a view and across."""
        z1, z2 = (self.head(r) for r in self.embed_pair(*(view(graphs) for view in self.views)))
        yield infonce(z1, z2, tau=self.tau)


METHOD = GRACE
