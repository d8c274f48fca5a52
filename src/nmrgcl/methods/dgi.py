"""Deep Graph Infomax (Veličković et al. 2019)."""

from collections.abc import Iterator
from typing import ClassVar

import torch
from torch import Tensor, nn

from nmrgcl.augment import ShuffleNodes
from nmrgcl.contrast import jensen_shannon
from nmrgcl.encode import EdgeShape, pool
from nmrgcl.graphs import Graphs
from nmrgcl.methods import About, Level, Pretraining
from nmrgcl.settings import Settings
from nmrgcl.train import Progress


class DGI(Pretraining):
    """Distinguish the nodes of a graph from those of a copy with shuffled features, given the graph's summary."""

    ABOUT: ClassVar[About | None] = About(
        family="mutual information",
        paper="Veličković, Fedus, Hamilton, Liò, Bengio, Hjelm 2019: Deep Graph Infomax",
        trains="The encoder and the matrix of a bilinear score, which is not needed to embed.",
        published=(
            "Its code takes the weights with the lowest training loss, without using labels, and averages 50 "
            "classifiers of 100 steps on the public split. Scores for 10/10/80 are from later papers."
        ),
        checked=(
            "The loss is binary cross-entropy (tests/contrast/test_node_objectives.py); GCN against PyG "
            "(tests/encode/test_gcn_gat.py); planted classes are found (tests/methods/test_gain.py)."
        ),
    )
    PRESETS: ClassVar[dict[Level, str]] = {"node": "dgi"}

    def __init__(self, settings: Settings, num_features: int, edges: EdgeShape | None = None) -> None:
        super().__init__(settings, num_features, edges)
        self.shuffle = ShuffleNodes(1.0)
        self.score = nn.Parameter(nn.init.xavier_uniform_(torch.empty(self.encoder.units, self.encoder.units)))

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """The Jensen–Shannon loss of real and shuffled nodes, where a node h with summary s has the score hᵀWs."""
        real, shuffled = self.embed(graphs), self.embed(self.shuffle(graphs))
        # hᵀWs is the inner product of h and Ws, so W multiplies one summary per graph and not every node.
        summary = (pool(real, graphs, "mean").sigmoid() @ self.score.T).index_select(0, graphs.batch)
        yield jensen_shannon((real * summary).sum(1), (shuffled * summary).sum(1))


METHOD = DGI
