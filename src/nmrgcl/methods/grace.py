"""GRACE (Zhu et al. 2020): all other nodes in both views are negatives; Eq. 14 without removal."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from nmrgcl.contrast import infonce
from nmrgcl.encode import EdgeShape, Head
from nmrgcl.graphs import Graphs
from nmrgcl.methods import About, Level, Pretraining
from nmrgcl.settings import Settings, setting
from nmrgcl.train import Progress


@dataclass(frozen=True)
class Options:
    """The loss and its projection head."""

    tau: float = setting(0.2, "temperature of the loss (τ)", above=0)
    head_units: int = setting(0, "width of the projection head; 0: as wide as the representation", min=0)


class GRACE(Pretraining):
    """Contrast the two views of a node with all other nodes; edges are dropped and feature columns masked."""

    options: Options
    ABOUT: ClassVar[About | None] = About(
        family="contrastive",
        paper="Zhu, Xu, Yu, Liu, Wu, Wang 2020: Deep Graph Contrastive Representation Learning",
        trains="The encoder and a projection head, which is not needed to embed.",
        published=(
            "Its code takes the last epoch, with settings per dataset, and chooses C by five-fold cross-validation on "
            "the training nodes. The scores here are from later papers."
        ),
        checked=(
            "The loss is Eq. 14 without removal (tests/methods/test_contract.py), which is tested against loops "
            "(tests/contrast/test_infonce.py); GCN against PyG (tests/encode/test_gcn_gat.py); planted classes are "
            "found (tests/methods/test_gain.py)."
        ),
    )
    ACROSS_RANKS = True
    PRESETS: ClassVar[dict[Level, str]] = {"node": "grace"}

    def __init__(self, settings: Settings, num_features: int, edges: EdgeShape | None = None) -> None:
        super().__init__(settings, num_features, edges)
        self.head = Head(self.encoder.units, self.options.head_units, nn.ELU)

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """InfoNCE in both directions with negatives from both views."""
        z1, z2 = (self.head(r) for r in self.embed_pair(*(view(graphs) for view in self.views)))
        yield infonce(z1, z2, tau=self.options.tau)


METHOD = GRACE
