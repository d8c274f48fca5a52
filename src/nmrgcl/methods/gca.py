"""GCA (Zhu et al. 2021): GRACE with views that preserve central edges and features; its preset names them."""

from typing import ClassVar

from nmrgcl.methods import About, Level
from nmrgcl.methods.grace import GRACE


class GCA(GRACE):
    """GRACE whose views drop edges and mask features according to centrality: degree, eigenvector or PageRank."""

    ABOUT: ClassVar[About | None] = About(
        family="contrastive",
        paper="Zhu, Xu, Yu, Liu, Wu, Wang 2021: Graph Contrastive Learning with Adaptive Augmentation",
        trains="The encoder and a projection head, which is not needed to embed.",
        published=(
            "Its code takes the last epoch, with settings per dataset, and tests the classifier step that is best on "
            "the validation nodes. Scores for 10/10/80 are from later papers."
        ),
        checked=(
            "Centralities against NetworkX, and dropping rates by hand (tests/augment/test_adaptive.py); the loss "
            "against loops (tests/contrast/test_infonce.py); planted classes are found (tests/methods/test_gain.py)."
        ),
    )
    PRESETS: ClassVar[dict[Level, str]] = {"node": "gca"}


METHOD = GCA
