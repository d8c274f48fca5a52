"""GCA (Zhu et al. 2021): GRACE with views that spare what is central; its preset names them."""

from typing import ClassVar

from nmrgcl.methods import About, Level
from nmrgcl.methods.grace import GRACE


class GCA(GRACE):
    """GRACE that drops edges and masks features by how central they are: degree, eigenvector or PageRank."""

    ABOUT: ClassVar[About | None] = About(
        family="contrastive",
        paper="Zhu, Xu, Yu, Liu, Wu, Wang 2021: Graph Contrastive Learning with Adaptive Augmentation",
        trains="An encoder and a projection head, which embedding leaves out.",
        published=(
            "Its code takes the last epoch, with settings by dataset, and tests a classifier at the step that is best "
            "on the validation nodes. Figures for 10/10/80 are as later papers report them."
        ),
        checked=(
            "Centralities against NetworkX, and rates of dropping by hand (tests/augment/test_adaptive.py); the loss "
            "against loops (tests/contrast/test_infonce.py); planted classes are found (tests/methods/test_gain.py)."
        ),
    )
    PRESETS: ClassVar[dict[Level, str]] = {"node": "gca"}


METHOD = GCA
