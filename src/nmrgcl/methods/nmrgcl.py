"""nmrGCL (arXiv 2203.12821); its ablations are values of the option ``removal``."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from nmrgcl.contrast import LOSSES, cosine, removal_masks, remove
from nmrgcl.encode import EdgeShape, Head
from nmrgcl.graphs import Graphs
from nmrgcl.methods import About, Level, Pretraining
from nmrgcl.settings import Settings, setting
from nmrgcl.train import Progress


@dataclass(frozen=True)
class Options:
    """What is removed from the positive pair (Eq. 13), and the loss."""

    removal: Literal["none", "non_maximum", "both", "random", "non_minimum", "learned"] = setting(
        "non_maximum", "what is removed from the second view"
    )
    delta: float = setting(0.7, "threshold relative to the largest value (δ)", min=0)
    where: Literal["projection", "representation"] = setting("projection", "remove after the head, or before it")
    loss: Literal["infonce", "graphcl"] = setting("infonce", "Eq. 14, or the variant in GraphCL's code")
    tau: float = setting(0.2, "temperature of the loss (τ)", above=0)
    head_units: int = setting(0, "width of the projection head; 0: as wide as the representation", min=0)


class NMRGCL(Pretraining):
    """Contrast two views; the prominent dimensions of one are removed from the other (Eq. 13)."""

    options: Options
    ABOUT: ClassVar[About | None] = About(
        family="contrastive",
        paper=(
            "Sun, Chen, Li, Wu, Ding, Yan 2022: On Understanding and Mitigating the Dimensional Collapse of Graph "
            "Contrastive Learning: a Non-Maximum Removal Approach (arXiv 2203.12821)"
        ),
        trains=(
            "The encoder and a projection head, which is not needed to embed; removal = learned adds a gate with one "
            "weight per dimension."
        ),
        published=(
            "Its paper does not say how the epoch and C were chosen for Table 1, nor clearly which split Table 2 uses."
        ),
        checked=(
            "Eq. 13 and its ablations by hand (tests/contrast/test_removal.py); Eq. 14 against loops, and its gradient "
            "in closed form (tests/contrast/test_infonce.py); GIN against PyG, and the paper's five-node example "
            "(tests/encode/test_gin.py); the lemmas and theorems "
            "(tests/reproduce/theory/test_pooling.py, tests/reproduce/theory/test_flow.py); planted classes are found "
            "(tests/methods/test_gain.py)."
        ),
    )
    ACROSS_RANKS = True
    PRESETS: ClassVar[dict[Level, str]] = {"graph": "strong", "node": "node"}
    MOLECULES = "molecules"

    def __init__(self, settings: Settings, num_features: int, edges: EdgeShape | None = None) -> None:
        super().__init__(settings, num_features, edges)
        options = self.options
        self.contrast = LOSSES[options.loss]
        self.head = Head(self.encoder.units, options.head_units)
        on_projection = options.where == "projection"
        width = (options.head_units or self.encoder.units) if on_projection else self.encoder.units
        # Drawn after the head, so that every ablation starts from the same encoder and head.
        self.gate = nn.Parameter(torch.randn(width)) if options.removal == "learned" else None

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """Eq. 14, where the removal mask applies to positives only."""
        if self.level == "graph":
            r = self.embed_views(graphs, *self.views)
        else:
            r = torch.cat(self.embed_pair(*(view(graphs) for view in self.views)))
        # The head has no batch norm, so both views can pass through it as one batch.
        z1, z2 = self.head(r).chunk(2)
        removal, delta, tau = self.options.removal, self.options.delta, self.options.tau
        # Given δ alone, the loss finds the mask itself, which on a GPU is part of its fused kernels.
        if removal == "none" or (removal == "non_maximum" and self.options.where == "projection"):
            yield self.contrast(z1, z2, delta=None if removal == "none" else delta, tau=tau)
        else:
            r1, r2 = r.chunk(2)
            yield self.contrast(z1, z2, positive=self._positive(r1, r2, z1, z2), tau=tau)

    def _positive(self, r1: Tensor, r2: Tensor, z1: Tensor, z2: Tensor) -> Tensor:
        """``[B]`` cosines of the two views after removal: on the projection (as in the text) or before it (Alg. 1)."""
        removal, delta = self.options.removal, self.options.delta
        if self.options.where == "projection":
            m1, m2 = removal_masks(removal, z1, z2, delta=delta, gate=self.gate)
            return cosine(remove(z1, m1), remove(z2, m2))
        # Alg. 1 scores |r|: before the head, a large negative entry is prominent, too.
        m1, m2 = removal_masks(removal, r1.abs(), r2.abs(), delta=delta, gate=self.gate)
        return cosine(
            # Where nothing is removed, the projection is known already.
            z1 if m1 is None else self.head(remove(r1, m1)),
            z2 if m2 is None else self.head(remove(r2, m2)),
        )


METHOD = NMRGCL
