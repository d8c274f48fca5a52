"""MVGRL (Hassani & Khasahmadi 2020) on the nodes of one graph."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from nmrgcl.augment import ShuffleNodes
from nmrgcl.augment.diffusion import DiffusedOnce
from nmrgcl.contrast import jensen_shannon
from nmrgcl.encode import GCN, pool
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.methods import Level, Method
from nmrgcl.settings import Settings
from nmrgcl.train import Progress


class MVGRL(Method):
    """Tell a node from a shuffled one by the summary of the other view: the graph, and its diffusion."""

    FIXED: ClassVar[dict[str, Any]] = {"loss.name": "jsd", "removal.kind": "none", "encoder.name": "gcn"}
    PRESETS: ClassVar[dict[Level, str]] = {"node": "mvgrl"}

    def __init__(self, settings: Settings, num_features: int) -> None:
        super().__init__(settings, num_features)
        options, diffusion = settings.encoder, settings.diffusion
        if not isinstance(self.encoder, GCN):
            raise SettingError("method mvgrl needs encoder.name = gcn")
        self.diffused = GCN(
            num_features,
            layers=options.layers,
            units=options.units,
            activation=options.activation,
            activate_last=options.activate_last,
            dropout=options.dropout,
        )
        self.diffuse = DiffusedOnce(diffusion.name, alpha=diffusion.alpha, time=diffusion.time, keep=diffusion.keep)
        self.shuffle = ShuffleNodes(1.0)
        self.score = nn.Parameter(nn.init.xavier_uniform_(torch.empty(options.units, options.units)))

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
