"""CCA-SSG (Zhang et al. 2021)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from nmrgcl.contrast import cca_loss
from nmrgcl.graphs import Graphs
from nmrgcl.methods import About, Level, Pretraining
from nmrgcl.settings import setting
from nmrgcl.train import Progress


@dataclass(frozen=True)
class Options:
    """The balance of the loss."""

    decorrelate: float = setting(1e-3, "weight of the decorrelation term relative to invariance (λ)", min=0)


class CCASSG(Pretraining):
    """Make two views agree in every dimension and decorrelate the dimensions; there are no negatives and no head."""

    options: Options
    ABOUT: ClassVar[About | None] = About(
        family="decorrelation",
        paper=(
            "Zhang, Wu, Yan, Wipf, Yu 2021: From Canonical Correlation Analysis to Self-supervised Graph Neural "
            "Networks"
        ),
        trains="The encoder only.",
        published=(
            "Its code trains for a number of epochs that depends on the dataset. Among the classifier steps that reach "
            "a new best validation accuracy, it reports the highest test accuracy, so the test nodes affect the choice."
        ),
        checked=(
            "The loss against its definition, and its minimum (tests/contrast/test_node_objectives.py); constant "
            "columns (tests/contrast/test_zero_rows.py); GCN against PyG (tests/encode/test_gcn_gat.py); planted "
            "classes are found (tests/methods/test_gain.py)."
        ),
    )
    PRESETS: ClassVar[dict[Level, str]] = {"node": "cca_ssg"}

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """Invariance and decorrelation of the embeddings."""
        r1, r2 = self.embed_pair(*(view(graphs) for view in self.views))
        yield cca_loss(r1, r2, decorrelate=self.options.decorrelate)


METHOD = CCASSG
