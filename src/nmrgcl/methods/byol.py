"""BYOL (Grill et al. 2020) on graphs: predict a momentum teacher's embedding of the other view."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from nmrgcl.contrast import bootstrap_loss
from nmrgcl.encode import EdgeShape, NormedHead
from nmrgcl.encode.momentum import Momentum
from nmrgcl.encode.teacher import follow, teach
from nmrgcl.graphs import Graphs
from nmrgcl.methods import About, Level, Pretraining
from nmrgcl.settings import Settings, setting
from nmrgcl.train import Progress


@dataclass(frozen=True)
class Options:
    """The teacher and the heads."""

    momentum: float = setting(0.99, "initial momentum of the teacher; it rises to 1", min=0, max=1)
    head_units: int = setting(0, "width of head and predictor; 0: as wide as the representation", min=0)


class BYOL(Pretraining):
    """Predict a momentum teacher's projection of the other view; there are no negatives."""

    options: Options
    PRESETS: ClassVar[dict[Level, str]] = {"graph": "byol"}
    ABOUT = About(
        family="bootstrapping",
        paper="Grill et al. 2020, Bootstrap Your Own Latent: A New Approach to Self-Supervised Learning",
        trains="encoder, head and predictor; only the encoder is kept; the teacher is a moving average of encoder and "
        "head",
        published="none for whole graphs; its node version, BGRL, is reported to collapse on REDDIT-BINARY (50.0)",
        checked="the loss by hand; the teacher's average, momentum and statistics against slow definitions; "
        "tests/methods/test_byol.py",
    )
    ACROSS_RANKS = True

    def __init__(self, settings: Settings, num_features: int, edges: EdgeShape | None = None) -> None:
        super().__init__(settings, num_features, edges)
        width = self.options.head_units or self.encoder.units
        self.head = NormedHead(self.encoder.units, width, width)
        self.predictor = NormedHead(width, width, width)
        self.teachers = teach(self, "encoder", "head")
        self.momentum = Momentum(self.options.momentum)

    def begin_epoch(self, progress: Progress) -> None:
        """Tell the momentum schedule how far training has progressed."""
        self.momentum.count(progress.step, progress.steps)

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """The symmetric bootstrap loss; the teacher is updated after the optimiser step."""
        seen = self.see(graphs, *self.views)
        r = torch.cat([self.embed(view) for view in seen])
        taught = torch.cat([self.taught(self.teachers, view) for view in seen])
        # One view at a time, so that batch norm in the heads uses the statistics of that view, as in the encoder.
        p1, p2 = (self.predictor(self.head(half)) for half in r.chunk(2))
        with torch.no_grad():
            t1, t2 = (self.teachers["head"](self.head, half) for half in taught.chunk(2))
        yield bootstrap_loss(p1, p2, t1, t2)
        follow(self.teachers, self, self.momentum())


METHOD = BYOL
