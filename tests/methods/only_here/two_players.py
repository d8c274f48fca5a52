"""Two players, as in AD-GCL (Suresh et al. 2021): one hides what the other relies on."""

from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from nmrgcl.augment import build_view
from nmrgcl.contrast import infonce
from nmrgcl.encode import Head
from nmrgcl.graphs import Graphs
from nmrgcl.methods import Pretraining
from nmrgcl.settings import Settings, TrainSettings
from nmrgcl.train import Optimiser, Progress


class TwoPlayers(Pretraining):
    """The encoder recognises a graph by what an adversary leaves of its embedding."""

    def __init__(self, settings: Settings, num_features: int) -> None:
        super().__init__(settings, num_features)
        self.view, self.head = build_view(settings.views.first), Head(self.encoder.units)
        self.adversary = nn.Linear(self.encoder.units, self.encoder.units)

    def optimisers(self, options: TrainSettings) -> list[Optimiser]:
        head: dict[str, Any] = {"params": self.head.parameters(), "lr": 10 * options.lr}
        ours = Optimiser([{"params": self.encoder.parameters()}, head], lr=options.lr, schedule="cosine", warmup=0.2)
        return [ours, Optimiser(self.adversary.parameters(), lr=options.lr, clip=1.0)]

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        yield self.confusion(graphs)
        yield -self.confusion(graphs)

    def confusion(self, graphs: Graphs) -> Tensor:
        r = self.embed(self.view(graphs))
        return infonce(self.head(r), self.head(r * self.adversary(r).sigmoid()))


METHOD = TwoPlayers
