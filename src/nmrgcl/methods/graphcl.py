"""GraphCL (You et al. 2020) with the loss of its public code."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from nmrgcl.contrast import graphcl_loss
from nmrgcl.encode import EdgeShape, Head
from nmrgcl.graphs import Graphs
from nmrgcl.methods import About, Pretraining
from nmrgcl.settings import Settings, setting
from nmrgcl.train import Progress


@dataclass(frozen=True)
class Options:
    """The loss and its projection head."""

    tau: float = setting(0.2, "temperature of the loss (τ)", above=0)
    head_units: int = setting(0, "width of the projection head; 0: as wide as the representation", min=0)


class GraphCL(Pretraining):
    """Contrast two views of a graph with the other graphs of the batch; nothing is removed."""

    options: Options
    MOLECULES = "graphcl_molecules"
    ABOUT: ClassVar[About | None] = About(
        family="contrastive",
        paper="You, Chen, Sui, Chen, Wang, Shen 2020: Graph Contrastive Learning with Augmentations",
        trains="The encoder and a projection head, which is not needed to embed.",
        published=(
            "Its authors report the last of 20 epochs, and their code chooses C from a grid inside the training folds. "
            "Augmentations follow a rule of thumb for the kind of dataset."
        ),
        checked=(
            "The loss of its code against its definition (tests/contrast/test_infonce.py); GIN and its readout against "
            "PyG (tests/encode/test_gin.py); planted classes are found (tests/methods/test_gain.py)."
        ),
    )
    ACROSS_RANKS = True

    def __init__(self, settings: Settings, num_features: int, edges: EdgeShape | None = None) -> None:
        super().__init__(settings, num_features, edges)
        self.head = Head(self.encoder.units, self.options.head_units)

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """The published code's variant of NT-Xent."""
        z1, z2 = self.head(self.embed_views(graphs, *self.views)).chunk(2)
        yield graphcl_loss(z1, z2, tau=self.options.tau)


METHOD = GraphCL
