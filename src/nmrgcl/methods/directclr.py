"""DirectCLR (Jing et al. 2022) on graphs: contrast a slice of the representation, without a projection head."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from nmrgcl.contrast import across_views
from nmrgcl.encode import GIN, EdgeShape, MoleculeGIN
from nmrgcl.graphs import Graphs
from nmrgcl.methods import About, Level, Pretraining
from nmrgcl.settings import Settings, setting
from nmrgcl.train import Progress


@dataclass(frozen=True)
class Options:
    """What is contrasted, and the loss."""

    # The paper's 360 of 2,048 dimensions.
    share: float = setting(0.176, "fraction of the dimensions of each layer in the loss (d₀)", above=0, max=1)
    tau: float = setting(0.1, "temperature of the loss (τ)", above=0)


class DirectCLR(Pretraining):
    """Contrast a few dimensions of the representation directly, which reduces collapse without a projection head.

    The representation of GIN concatenates all layers, so its first dimensions would train only the first layer;
    therefore the slice is taken from every layer. The other dimensions are trained as inputs of later layers, except
    those of the last layer: they keep their initial map, but are part of the embedding.
    """

    options: Options
    PRESETS: ClassVar[dict[Level, str]] = {"graph": "directclr"}
    ABOUT = About(
        family="contrastive",
        paper="Jing, Vincent, LeCun & Tian 2022, Understanding Dimensional Collapse in Contrastive Self-Supervised "
        "Learning",
        trains="the encoder only",
        published="none on graphs",
        checked="the loss against its definition; the slice by hand; the gradient reaches every layer; "
        "tests/methods/test_directclr.py",
    )
    ACROSS_RANKS = True

    def __init__(self, settings: Settings, num_features: int, edges: EdgeShape | None = None) -> None:
        super().__init__(settings, num_features, edges)
        # With encoder.jk = last, the encoder returns a single layer, which is then the only part.
        self.parts = self.encoder.units // settings.encoder.units if isinstance(self.encoder, GIN | MoleculeGIN) else 1
        self.columns = max(1, round(self.options.share * self.encoder.units / self.parts))

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """InfoNCE in both directions with negatives from the other view."""
        z1, z2 = self.slice(self.embed_views(graphs, *self.views)).chunk(2)
        yield across_views(z1, z2, tau=self.options.tau)

    def slice(self, r: Tensor) -> Tensor:
        """The first dimensions of every layer of ``r`` ``[B, D]``."""
        return r.unflatten(1, (self.parts, -1))[:, :, : self.columns].flatten(1)


METHOD = DirectCLR
