"""MERIT (Jin et al. 2021), without its subsampling of nodes: similarities are streamed instead."""

from collections.abc import Iterator
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from nmrgcl.augment import build_view
from nmrgcl.augment.diffusion import DiffusedOnce
from nmrgcl.contrast import merit_loss
from nmrgcl.encode import GCN, Head
from nmrgcl.encode.teacher import Teacher
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.methods import Level, Method
from nmrgcl.settings import Settings
from nmrgcl.train import Progress

NORMALISED = (True, False)
"""The graph's adjacency is normalised as GCN does; the diffusion's weights are a matrix as they are."""


class MERIT(Method):
    """Contrast views of a graph and of its diffusion with each other and with a teacher that follows slowly."""

    FIXED: ClassVar[dict[str, Any]] = {"loss.name": "merit", "removal.kind": "none", "encoder.name": "gcn"}
    PRESETS: ClassVar[dict[Level, str]] = {"node": "merit"}

    def __init__(self, settings: Settings, num_features: int) -> None:
        super().__init__(settings, num_features)
        if not isinstance(self.encoder, GCN):
            raise SettingError("method merit needs encoder.name = gcn")
        loss, diffusion = settings.loss, settings.diffusion
        self.beta, self.tau, self.momentum = loss.beta, loss.tau, loss.momentum
        self.views = [build_view(settings.views.first), build_view(settings.views.second)]
        self.diffuse = DiffusedOnce(diffusion.name, alpha=diffusion.alpha, time=diffusion.time, keep=diffusion.keep)
        self.head = Head(self.encoder.units, settings.head.units, nn.PReLU)
        self.predictor = Head(settings.head.units or self.encoder.units, None, nn.PReLU)
        self.teachers = nn.ModuleList(Teacher(part) for part in (self.encoder, self.head))

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """The teacher follows after the optimiser has stepped."""
        seen = self.views[0](graphs), self.views[1](self.diffuse(graphs))
        ours = [self.predictor(self.head(self.encoder(seen[n], normalise=NORMALISED[n]))) for n in (0, 1)]
        encoder, head = self.teachers
        with torch.no_grad():
            taught = [head(self.head, encoder(self.encoder, seen[n], normalise=NORMALISED[n])) for n in (0, 1)]
        z1, z2, t1, t2 = self.matched(*seen, *ours, *taught)
        yield merit_loss((z1, z2), (t1, t2), beta=self.beta, tau=self.tau)
        encoder.follow(self.encoder, self.momentum)  # type: ignore[operator]
        head.follow(self.head, self.momentum)  # type: ignore[operator]

    def embed(self, graphs: Graphs) -> Tensor:
        """``[N, D]``: the sum of the graph's and its diffusion's embeddings."""
        both: Tensor = self.encoder(graphs) + self.encoder(self.diffuse(graphs), normalise=False)
        return both


METHOD = MERIT
