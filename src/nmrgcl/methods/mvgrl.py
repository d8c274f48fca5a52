"""MVGRL (Hassani & Khasahmadi 2020) on the nodes of one graph."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from nmrgcl.augment import ShuffleNodes
from nmrgcl.augment.diffusion import DiffusedOnce, Diffusion
from nmrgcl.contrast import jensen_shannon
from nmrgcl.encode import GCN, pool
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.methods import About, Level, Pretraining
from nmrgcl.settings import Settings, setting
from nmrgcl.train import Progress


@dataclass(frozen=True)
class Options:
    """The second view: the largest entries of each row of personalised PageRank or of the heat kernel."""

    diffusion: Diffusion = setting("ppr", "personalised PageRank, or the heat kernel")
    alpha: float = setting(0.2, "restart probability, for ppr (α)", above=0, below=1)
    time: float = setting(5.0, "diffusion time, for heat (t)", above=0)
    keep: int = setting(32, "number of entries to keep per row", min=1)

    def build(self) -> DiffusedOnce:
        """The diffusion that these options describe."""
        return DiffusedOnce(self.diffusion, alpha=self.alpha, time=self.time, keep=self.keep)


class MVGRL(Pretraining):
    """Distinguish real from shuffled nodes by the summary of the other view: the graph or its diffusion."""

    options: Options
    ABOUT: ClassVar[About | None] = About(
        family="mutual information",
        paper="Hassani, Khasahmadi 2020: Contrastive Multi-View Representation Learning on Graphs",
        trains=(
            "Two encoders, for the graph and for its diffusion, whose sum is the embedding, and the matrix of a "
            "bilinear score, which is not needed to embed."
        ),
        published=(
            "Its code takes the weights with the lowest training loss, without using labels, and averages 50 "
            "classifiers of 300 steps on the public split. Scores for 10/10/80 are from later papers."
        ),
        checked=(
            "The diffusion against the dense formulas (tests/augment/test_diffusion.py); the loss is binary "
            "cross-entropy (tests/contrast/test_node_objectives.py); GCN against PyG (tests/encode/test_gcn_gat.py); "
            "planted classes are found (tests/methods/test_gain.py)."
        ),
    )
    FIXED: ClassVar[dict[str, Any]] = {"encoder.name": "gcn"}
    PRESETS: ClassVar[dict[Level, str]] = {"node": "mvgrl"}

    def __init__(self, settings: Settings, num_features: int) -> None:
        super().__init__(settings, num_features)
        encoder = settings.encoder
        if not isinstance(self.encoder, GCN):
            raise SettingError("method mvgrl needs encoder.name = gcn")
        self.diffused = GCN(
            num_features,
            layers=encoder.layers,
            units=encoder.units,
            activation=encoder.activation,
            activate_last=encoder.activate_last,
            dropout=encoder.dropout,
            norm=encoder.norm == "batch",
        )
        self.diffuse = self.options.build()
        self.shuffle = ShuffleNodes(1.0)
        self.score = nn.Parameter(nn.init.xavier_uniform_(torch.empty(encoder.units, encoder.units)))

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """The Jensen–Shannon loss, where nodes of one view are scored against the summary of the other."""
        shuffled = self.shuffle(graphs)
        there = self.diffuse(graphs)
        real = self.encoder(graphs), self.diffused(there, normalise=False)
        # The diffusion depends on the edges alone, so shuffled features need none of their own.
        false = self.encoder(shuffled), self.diffused(replace(there, x=shuffled.x), normalise=False)
        joint, apart = [], []
        for one, other in ((0, 1), (1, 0)):
            # As in dgi.py, W multiplies one summary per graph and not every node.
            summary = (pool(real[other], graphs, "mean").sigmoid() @ self.score.T).index_select(0, graphs.batch)
            joint.append((real[one] * summary).sum(1))
            apart.append((false[one] * summary).sum(1))
        yield jensen_shannon(torch.stack(joint), torch.stack(apart))

    def embed(self, graphs: Graphs) -> Tensor:
        """The sum ``[N, D]`` of the embeddings of both views."""
        both: Tensor = self.encoder(graphs) + self.diffused(self.diffuse(graphs), normalise=False)
        return both


METHOD = MVGRL
