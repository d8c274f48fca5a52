"""A curriculum, as in CuCo (Chu et al. 2021): views get harder as the training goes on."""

from collections.abc import Iterator

import torch
from torch import Tensor

from nmrgcl.augment.nodes import DropNodes
from nmrgcl.contrast import infonce
from nmrgcl.encode import Head
from nmrgcl.graphs import Graphs
from nmrgcl.methods import Pretraining
from nmrgcl.settings import Settings
from nmrgcl.train import Progress


class Curriculum(Pretraining):
    """Contrast graphs of which more and more is missing; each epoch draws how much at the most."""

    CAPTURABLE = False
    hardest: Tensor

    def __init__(self, settings: Settings, num_features: int) -> None:
        super().__init__(settings, num_features)
        self.head = Head(self.encoder.units)
        self.register_buffer("hardest", torch.zeros(()))

    def begin_epoch(self, progress: Progress) -> None:
        self.hardest.copy_(progress.epoch / progress.epochs * torch.rand(()))

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        view = DropNodes(float(self.hardest) * (progress.step + 1) / progress.steps)
        z1, z2 = (self.head(self.embed(view(graphs))) for _ in range(2))
        yield infonce(z1, z2)


METHOD = Curriculum
