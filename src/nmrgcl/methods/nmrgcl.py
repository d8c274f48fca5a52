"""nmrGCL (arXiv 2203.12821); its ablations are values of ``removal.kind``."""

from collections.abc import Iterator
from typing import ClassVar

import torch
from torch import Tensor, nn

from nmrgcl.augment import build_view
from nmrgcl.contrast import LOSSES, cosine, removal_masks, remove
from nmrgcl.encode import Head
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.methods import Level, Method
from nmrgcl.settings import Settings
from nmrgcl.train import Progress


class NMRGCL(Method):
    """Contrast two views; what one shows most prominently is removed from the other (Eq. 13)."""

    PRESETS: ClassVar[dict[Level, str]] = {"graph": "strong", "node": "node"}

    def __init__(self, settings: Settings, num_features: int) -> None:
        super().__init__(settings, num_features)
        self.removal = settings.removal
        if settings.loss.name not in LOSSES:
            raise SettingError(f"method nmrgcl contrasts: loss.name = {settings.loss.name}; use {' or '.join(LOSSES)}")
        self.contrast, self.tau = LOSSES[settings.loss.name], settings.loss.tau
        self.views = [build_view(settings.views.first), build_view(settings.views.second)]
        self.head = Head(self.encoder.units, settings.head.units)
        on_projection = settings.removal.where == "projection"
        width = (settings.head.units or self.encoder.units) if on_projection else self.encoder.units
        self.gate = nn.Parameter(torch.randn(width)) if settings.removal.kind == "learned" else None

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """Eq. 14; the mask touches positives only."""
        if self.level == "graph":
            r = self.embed_views(graphs, *self.views)
        else:
            r = torch.cat(self.embed_pair(*(view(graphs) for view in self.views)))
        z1, z2 = self.head(r).chunk(2)
        kind, delta, where = self.removal.kind, self.removal.delta, self.removal.where
        if kind == "none" or (kind == "non_maximum" and where == "projection"):
            yield self.contrast(z1, z2, delta=None if kind == "none" else delta, tau=self.tau)
        else:
            r1, r2 = r.chunk(2)
            yield self.contrast(z1, z2, positive=self._positive(r1, r2, z1, z2), tau=self.tau)

    def _positive(self, r1: Tensor, r2: Tensor, z1: Tensor, z2: Tensor) -> Tensor:
        """``[B]`` cosine of the two views of each row after removal: on the projection (text) or before it (Alg. 1)."""
        kind, delta = self.removal.kind, self.removal.delta
        if self.removal.where == "projection":
            m1, m2 = removal_masks(kind, z1, z2, delta=delta, gate=self.gate)
            return cosine(remove(z1, m1), remove(z2, m2))
        m1, m2 = removal_masks(kind, r1.abs(), r2.abs(), delta=delta, gate=self.gate)
        return cosine(
            z1 if m1 is None else self.head(remove(r1, m1)),
            z2 if m2 is None else self.head(remove(r2, m2)),
        )


METHOD = NMRGCL
