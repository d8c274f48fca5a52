"""SimSiam (Chen & He 2021) on graphs: BYOL without a teacher, with a stop-gradient on the targets."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from nmrgcl.contrast import bootstrap_loss
from nmrgcl.encode import EdgeShape, NormedHead
from nmrgcl.graphs import Graphs
from nmrgcl.methods import About, Level, Pretraining
from nmrgcl.settings import Settings, setting
from nmrgcl.train import Progress


@dataclass(frozen=True)
class Options:
    """The heads, and the stop-gradient that prevents collapse."""

    stop_gradient: bool = setting(True, "block gradients through targets; without this, embeddings collapse")
    head_units: int = setting(0, "width of the projection head; 0: as wide as the representation", min=0)
    narrowing: int = setting(4, "factor by which the predictor's hidden layer is narrower", min=1)


class SimSiam(Pretraining):
    """Predict the projection of the other view without a gradient to it; there are no negatives and no teacher."""

    options: Options
    PRESETS: ClassVar[dict[Level, str]] = {"graph": "simsiam"}
    ABOUT = About(
        family="bootstrapping",
        paper="Chen & He 2021, Exploring Simple Siamese Representation Learning",
        trains="encoder, head and predictor; only the encoder is kept",
        published="none for whole graphs",
        checked="a small training collapses without the stop-gradient and does not collapse with it; "
        "tests/methods/test_simsiam.py",
    )
    ACROSS_RANKS = True

    def __init__(self, settings: Settings, num_features: int, edges: EdgeShape | None = None) -> None:
        super().__init__(settings, num_features, edges)
        width = self.options.head_units or self.encoder.units
        self.head = NormedHead(self.encoder.units, width, width, width, norm_last=True)
        self.predictor = NormedHead(width, max(1, width // self.options.narrowing), width)

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """Half the BYOL loss, with the network's own projections as targets."""
        # One view at a time, so that batch norm in the head uses the statistics of that view, as in the encoder.
        z1, z2 = (self.head(r) for r in self.embed_views(graphs, *self.views).chunk(2))
        t1, t2 = (z.detach() if self.options.stop_gradient else z for z in (z1, z2))
        yield bootstrap_loss(self.predictor(z1), self.predictor(z2), t1, t2) / 2


METHOD = SimSiam
