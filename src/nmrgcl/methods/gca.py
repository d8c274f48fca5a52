"""GCA (Zhu et al. 2021): GRACE with views that spare what is central; its preset names them."""

from typing import ClassVar

from nmrgcl.methods import Level
from nmrgcl.methods.grace import GRACE


class GCA(GRACE):
    """GRACE that drops edges and masks features by how central they are: degree, eigenvector or PageRank."""

    PRESETS: ClassVar[dict[Level, str]] = {"node": "gca"}


METHOD = GCA
