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
    """The second graph: the largest entries of each row of PageRank or of the heat kernel."""

    diffusion: Diffusion = setting("ppr", "PageRank, or the heat kernel")
    alpha: float = setting(0.2, "probability to return to the start, for ppr (α)", above=0, below=1)
    time: float = setting(5.0, "duration, for heat (t)", above=0)
    keep: int = setting(32, "entries of a row that stay", min=1)

    def build(self) -> DiffusedOnce:
        """The diffusion that these options describe."""
        return DiffusedOnce(self.diffusion, alpha=self.alpha, time=self.time, keep=self.keep)


class MVGRL(Pretraining):
    """Tell a node from a shuffled one by the summary of the other view: the graph, and its diffusion."""

    options: Options
    ABOUT: ClassVar[About | None] = About(
        family="mutual information",
        paper="Hassani, Khasahmadi 2020: Contrastive Multi-View Representation Learning on Graphs",
        trains=(
            "Two encoders, of the graph and of its diffusion, whose sum is the embedding, and the matrix of a bilinear "
            "score, which embedding leaves out."
        ),
        published=(
            "Its code takes the weights with the lowest training loss, so that no label chooses, and averages 50 "
            "classifiers of 300 steps on the public split. Figures for 10/10/80 are as later papers report them."
        ),
        checked=(
            "The diffusion against the dense formulas (tests/augment/test_diffusion.py); the loss is binary "
            "cross-entropy (tests/contrast/test_node_objectives.py); GCN as PyG has it (tests/encode/test_gcn_gat.py); "
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
        """A node of one view is scored with the summary of the other."""
        shuffled = self.shuffle(graphs)
        there = self.diffuse(graphs)
        real = self.encoder(graphs), self.diffused(there, normalise=False)
        false = self.encoder(shuffled), self.diffused(replace(there, x=shuffled.x), normalise=False)
        joint, apart = [], []
        for one, other in ((0, 1), (1, 0)):
            summary = (pool(real[other], graphs, "mean").sigmoid() @ self.score.T).index_select(0, graphs.batch)
            joint.append((real[one] * summary).sum(1))
            apart.append((false[one] * summary).sum(1))
        yield jensen_shannon(torch.stack(joint), torch.stack(apart))

    def embed(self, graphs: Graphs) -> Tensor:
        """``[N, D]``: the sum of both views."""
        both: Tensor = self.encoder(graphs) + self.diffused(self.diffuse(graphs), normalise=False)
        return both


METHOD = MVGRL
