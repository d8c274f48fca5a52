"""SimSiam (Chen & He 2021) on graphs: BYOL without a teacher; targets stop the gradient instead."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from nmrgcl.augment import build_view
from nmrgcl.contrast import bootstrap_loss
from nmrgcl.encode import EdgeShape, NormedHead
from nmrgcl.graphs import Graphs
from nmrgcl.methods import About, Level, Pretraining
from nmrgcl.settings import Settings, setting
from nmrgcl.train import Progress


@dataclass(frozen=True)
class Options:
    """The heads, and what keeps embeddings apart."""

    stop_gradient: bool = setting(True, "targets have no gradient; with one, embeddings collapse")
    head_units: int = setting(0, "width of the projection head; 0: as wide as the representation", min=0)
    narrowing: int = setting(4, "how many times narrower the predictor is inside", min=1)


class SimSiam(Pretraining):
    """Predict the other view's projection, which stops the gradient; there are neither negatives nor a teacher."""

    options: Options
    PRESETS: ClassVar[dict[Level, str]] = {"graph": "simsiam"}
    ABOUT = About(
        family="bootstrapping",
        paper="Chen & He 2021, Exploring Simple Siamese Representation Learning",
        trains="encoder, head and predictor; the latter two are dropped",
        published="none on graphs as a whole",
        checked="collapse without the stopped gradient, and none with it, in a small training; "
        "tests/methods/test_simsiam.py",
    )

    def __init__(self, settings: Settings, num_features: int, edges: EdgeShape | None = None) -> None:
        super().__init__(settings, num_features, edges)
        width = self.options.head_units or self.encoder.units
        self.views = [build_view(settings.views.first), build_view(settings.views.second)]
        self.head = NormedHead(self.encoder.units, width, width, width, norm_last=True)
        self.predictor = NormedHead(width, max(1, width // self.options.narrowing), width)

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """Half of BYOL's loss, with the network's own projections as targets."""
        z1, z2 = (self.head(r) for r in self.embed_views(graphs, *self.views).chunk(2))
        t1, t2 = (z.detach() if self.options.stop_gradient else z for z in (z1, z2))
        yield bootstrap_loss(self.predictor(z1), self.predictor(z2), t1, t2) / 2


METHOD = SimSiam
