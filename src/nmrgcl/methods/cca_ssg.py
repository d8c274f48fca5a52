"""CCA-SSG (Zhang et al. 2021)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from nmrgcl.augment import build_view
from nmrgcl.contrast import cca_loss
from nmrgcl.encode import EdgeShape
from nmrgcl.graphs import Graphs
from nmrgcl.methods import Level, Pretraining
from nmrgcl.settings import Settings, setting
from nmrgcl.train import Progress


@dataclass(frozen=True)
class Options:
    """The balance of the loss."""

    decorrelate: float = setting(1e-3, "weight of decorrelation beside invariance (λ)", min=0)


class CCASSG(Pretraining):
    """Two views agree in every dimension while dimensions do not correlate; no negatives and no head."""

    options: Options
    PRESETS: ClassVar[dict[Level, str]] = {"node": "cca_ssg"}

    def __init__(self, settings: Settings, num_features: int, edges: EdgeShape | None = None) -> None:
        super().__init__(settings, num_features, edges)
        self.views = [build_view(settings.views.first), build_view(settings.views.second)]

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """Invariance and decorrelation of the encoder's own embeddings."""
        r1, r2 = self.embed_pair(*(view(graphs) for view in self.views))
        yield cca_loss(r1, r2, decorrelate=self.options.decorrelate)


METHOD = CCASSG
