"""MERIT (Jin et al. 2021), without its subsampling of nodes: similarities are streamed instead."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from nmrgcl.contrast import merit_loss
from nmrgcl.encode import GCN, Head
from nmrgcl.encode.teacher import Teacher
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.methods import About, Level, Pretraining, mvgrl
from nmrgcl.settings import Settings, setting
from nmrgcl.train import Progress

NORMALISED = (True, False)
"""The adjacency of the graph is normalised as in GCN; the diffusion matrix is used as it is."""


@dataclass(frozen=True)
class Options(mvgrl.Options):
    """MVGRL's diffusion, the loss, and the teacher."""

    tau: float = setting(0.2, "temperature of the loss (τ)", above=0)
    beta: float = setting(0.6, "weight of the contrast between views; the rest is with the teacher (β)", min=0, max=1)
    momentum: float = setting(0.8, "momentum of the teacher", min=0, below=1)
    head_units: int = setting(0, "width of the projection head; 0: as wide as the representation", min=0)


class MERIT(Pretraining):
    """Contrast views of a graph and of its diffusion with each other and with a momentum teacher."""

    options: Options
    ABOUT: ClassVar[About | None] = About(
        family="contrastive",
        paper=(
            "Jin, Zheng, Li, Gong, Zhou, Pan 2021: Multi-Scale Contrastive Siamese Networks for Self-Supervised Graph "
            "Representation Learning"
        ),
        trains=(
            "The encoder, a projection head and a predictor, with a momentum teacher of the first two. Only the "
            "encoder is needed to embed."
        ),
        published=(
            "Its paper uses the public split of PubMed, and 30 nodes per class each for training and validation on "
            "Coauthor-CS and Amazon-Photo. We do not know how the epoch was chosen."
        ),
        checked=(
            "The loss against its definition (tests/contrast/test_node_objectives.py); the teacher is updated after "
            "each step (tests/methods/test_contract.py) and is a separate network (tests/encode/test_teacher.py); the "
            "diffusion against the dense formulas (tests/augment/test_diffusion.py); planted classes are found "
            "(tests/methods/test_gain.py)."
        ),
    )
    FIXED: ClassVar[dict[str, Any]] = {"encoder.name": "gcn"}
    PRESETS: ClassVar[dict[Level, str]] = {"node": "merit"}

    def __init__(self, settings: Settings, num_features: int) -> None:
        super().__init__(settings, num_features)
        if not isinstance(self.encoder, GCN):
            raise SettingError("method merit needs encoder.name = gcn")
        width = self.options.head_units
        self.diffuse = self.options.build()
        self.head = Head(self.encoder.units, width, nn.PReLU)
        self.predictor = Head(width or self.encoder.units, None, nn.PReLU)
        self.teachers = nn.ModuleList(Teacher(part) for part in (self.encoder, self.head))

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """MERIT's loss; the teacher is updated after the optimiser step."""
        seen = self.views[0](graphs), self.views[1](self.diffuse(graphs))
        ours = [self.predictor(self.head(self.encoder(seen[n], normalise=NORMALISED[n]))) for n in (0, 1)]
        encoder, head = self.teachers
        with torch.no_grad():
            taught = [head(self.head, encoder(self.encoder, seen[n], normalise=NORMALISED[n])) for n in (0, 1)]
        z1, z2, t1, t2 = self.matched(*seen, *ours, *taught)
        yield merit_loss((z1, z2), (t1, t2), beta=self.options.beta, tau=self.options.tau)
        encoder.follow(self.encoder, self.options.momentum)  # type: ignore[operator]
        head.follow(self.head, self.options.momentum)  # type: ignore[operator]

    def embed(self, graphs: Graphs) -> Tensor:
        """The sum ``[N, D]`` of the embeddings of the graph and of its diffusion."""
        both: Tensor = self.encoder(graphs) + self.encoder(self.diffuse(graphs), normalise=False)
        return both


METHOD = MERIT
