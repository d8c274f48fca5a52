"""BGRL (Thakoor et al. 2022): BYOL on the nodes of a graph, without a projection head."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from nmrgcl.contrast import bootstrap_loss
from nmrgcl.encode import EdgeShape
from nmrgcl.encode.momentum import Momentum
from nmrgcl.encode.teacher import Teacher
from nmrgcl.graphs import Graphs
from nmrgcl.methods import About, Level, Pretraining
from nmrgcl.settings import Settings, setting
from nmrgcl.train import Progress


@dataclass(frozen=True)
class Options:
    """The teacher and the predictor."""

    momentum: float = setting(0.99, "initial momentum of the teacher; it rises to 1", min=0, max=1)
    predictor_units: int = setting(512, "width of the predictor's hidden layer", min=1)


class BGRL(Pretraining):
    """Predict a momentum teacher's embedding of the same node in the other view; there are no negatives."""

    options: Options
    ACROSS_RANKS = True
    PRESETS: ClassVar[dict[Level, str]] = {"node": "bgrl"}
    ABOUT: ClassVar[About] = About(
        family="bootstrapping",
        paper="Thakoor et al. 2022, Large-Scale Representation Learning on Graphs via Bootstrapping",
        trains="encoder and predictor; the teacher is a moving average of the encoder, and only the encoder is kept",
        published="WikiCS 79.98, Amazon-Computers 90.34, Amazon-Photo 93.17, Coauthor-CS 93.31, Coauthor-Physics 95.73 "
        "(10/10/80, not verified)",
        checked="the loss and the teacher's momentum by hand; targets are the teacher's other view, without gradients; "
        "tests/methods/test_bgrl.py",
    )

    def __init__(self, settings: Settings, num_features: int, edges: EdgeShape | None = None) -> None:
        super().__init__(settings, num_features, edges)
        width, hidden = self.encoder.units, self.options.predictor_units
        self.predictor = nn.Sequential(nn.Linear(width, hidden), nn.PReLU(), nn.Linear(hidden, width))
        self.teacher = Teacher(self.encoder)
        self.momentum = Momentum(self.options.momentum)

    def begin_epoch(self, progress: Progress) -> None:
        """Tell the momentum schedule how far training has progressed."""
        self.momentum.count(progress.step, progress.steps)

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """The symmetric bootstrap loss; the teacher is updated after the optimiser step."""
        first, second = (view(graphs) for view in self.views)
        with torch.no_grad():
            taught = [self.teacher(self.encoder, seen) for seen in (first, second)]
        ours = [self.predictor(self.embed(seen)) for seen in (first, second)]
        yield bootstrap_loss(*self.matched(first, second, *ours, *taught))
        self.teacher.follow(self.encoder, self.momentum())


METHOD = BGRL
