"""InfoGraph (Sun et al. 2020): maximise the mutual information between a graph's summary and its nodes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from nmrgcl.contrast import local_global
from nmrgcl.encode import EdgeShape, Foreign, Head, ResidualHead, pool
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.methods import About, Level, Pretraining
from nmrgcl.ops import across_ranks
from nmrgcl.settings import Settings, setting
from nmrgcl.train import Progress


@dataclass(frozen=True)
class Options:
    """The optional prior on embeddings of graphs."""

    prior: float = setting(
        0.0, "weight of an adversary that pulls embeddings towards U(0, 1); 0: none, published: 0.1", min=0
    )


class InfoGraph(Pretraining):
    """Distinguish the nodes of a graph from those of others in the batch, given its summary; there are no views."""

    options: Options
    PRESETS: ClassVar[dict[Level, str]] = {"graph": "infograph"}
    MOLECULES = "infograph_molecules"
    ABOUT = About(
        family="contrastive",
        paper="Sun, Hoffmann, Verma, Tang 2020: InfoGraph: Unsupervised and Semi-supervised Graph-Level Representation "
        "Learning via Mutual Information Maximization",
        trains="the encoder and two networks that score nodes and graphs, which are only needed for training",
        published="MUTAG 89.01 ± 1.13: the highest mean test accuracy over epochs, 3, 5, 8 or 16 layers, and learning "
        "rates of 0.1, 0.01 or 0.001",
        checked="the loss against its definition as slow loops; tests/methods/test_infograph.py",
    )
    ACROSS_RANKS = True

    def __init__(self, settings: Settings, num_features: int, edges: EdgeShape | None = None) -> None:
        super().__init__(settings, num_features, edges)
        if isinstance(self.encoder, Foreign) and self.encoder.pooled:
            raise SettingError("method infograph needs an encoder that returns a row per node, not one per graph")
        width = self.encoder.units
        self.of_nodes, self.of_graphs = ResidualHead(width), ResidualHead(width)
        self.judge = nn.Sequential(Head(width), nn.ReLU(), nn.Linear(width, 1)) if self.options.prior else None

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """The Jensen–Shannon loss of matching against other pairs of nodes and graphs, and the prior."""
        nodes = self.encoder(graphs)
        summary = pool(nodes, graphs, self.readout)
        loss = local_global(self.of_nodes(nodes), self.of_graphs(summary), graphs.batch, graphs.node_keep)
        yield loss if self.judge is None else loss + self.options.prior * self._recognised(summary)

    def _recognised(self, summary: Tensor) -> Tensor:
        """−log D(u) − log(1 − D(summary)); D minimises it and, by reversed gradients, the encoder maximises it."""
        assert self.judge is not None
        # The value of the summary with the opposite gradient, so that one optimiser serves both players.
        reversed_ = 2 * summary.detach() - summary
        drawn, found = self.judge(torch.rand_like(summary)), self.judge(reversed_)
        return across_ranks.mean(softplus(-drawn)) + across_ranks.mean(softplus(found))


METHOD = InfoGraph
