"""Graphical mutual information (Peng et al. 2020) in its mean form: own features, neighbour features, and edges."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from nmrgcl.encode import GCN
from nmrgcl.encode.feature_map import FeatureMap
from nmrgcl.errors import DataError, SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.methods import About, Level, Pretraining
from nmrgcl.ops.neighbour_sum import edge_scores, neighbour_sum
from nmrgcl.ops.similarities import pair_softplus
from nmrgcl.settings import Settings, setting
from nmrgcl.train import Progress


@dataclass(frozen=True)
class Options:
    """The three parts of the objective."""

    own_weight: float = setting(0.8, "weight of a node's own features (α)", min=0)
    around_weight: float = setting(1.0, "weight of its neighbours' features (β)", min=0)
    edges_weight: float = setting(1.0, "weight of the edges (γ)", min=0)
    negatives: int = setting(5, "number of random negatives per node", min=1)


class GMI(Pretraining):
    """Distinguish a node's own and its neighbours' features from those of other nodes, and edges from other pairs."""

    options: Options
    FIXED: ClassVar[dict[str, Any]] = {"encoder.name": "gcn"}
    PRESETS: ClassVar[dict[Level, str]] = {"node": "gmi"}
    ABOUT: ClassVar[About] = About(
        family="mutual information",
        paper="Peng et al. 2020, Graph Representation Learning via Graphical Mutual Information Maximization",
        trains="the encoder and two bilinear scores, which are discarded",
        published="Cora 82.7, CiteSeer 73.0, PubMed 80.1 (public split, not verified); its code chooses the number of "
        "steps of the logistic regression by test accuracy",
        checked="value and gradient of the streamed sum over all pairs of nodes against the dense one; "
        "tests/methods/test_gmi.py",
    )

    def __init__(self, settings: Settings, num_features: int) -> None:
        super().__init__(settings, num_features)
        if not isinstance(self.encoder, GCN):
            raise SettingError("method gmi needs encoder.name = gcn")
        units = self.encoder.units
        self.of_features = FeatureMap(num_features, units)
        self.of_neighbours = nn.Parameter(nn.init.xavier_uniform_(torch.empty(units, units)))
        self.activation = nn.PReLU()

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """α · JSD with a node's own features + β · JSD with its neighbours' + γ · cross-entropy of the edges."""
        if graphs.num_nodes < 2:
            raise DataError("method gmi compares nodes with each other, but this graph has only one node")
        h = self.encoder(graphs)
        own = self._jensen_shannon(self.of_features(graphs.x), h)
        around = self._jensen_shannon(h, self._neighbours(graphs) @ self.of_neighbours)
        edges = edge_loss(h, graphs)
        weights = self.options
        yield weights.own_weight * own + weights.around_weight * around + weights.edges_weight * edges

    def _neighbours(self, graphs: Graphs) -> Tensor:
        """``[N, D]`` the mean of the neighbours' features after the linear map of the first layer."""
        mapped = self.encoder.layers[0].linear(graphs.x)  # type: ignore[union-attr, index]
        degree = graphs.row_ptr.diff().clamp(min=1).to(mapped.dtype)
        mean: Tensor = self.activation(neighbour_sum(mapped, graphs) / degree[:, None])
        return mean

    def _jensen_shannon(self, a: Tensor, b: Tensor) -> Tensor:
        """The JSD loss where row i of ``a`` matches row i of ``b`` only; a sigmoid is applied to the scores first."""
        count, device = a.shape[0], a.device
        joint = softplus(-(a * b).sum(1).sigmoid()).mean()
        apart = [
            (a.index_select(0, (torch.arange(count, device=device) + shift) % count) * b).sum(1).sigmoid()
            # Shifted by 1 … N − 1, so that a node is never its own negative.
            for shift in torch.randint(1, count, (self.options.negatives, count), device=device)
        ]
        return joint + softplus(torch.stack(apart)).mean()


def edge_loss(h: Tensor, graphs: Graphs) -> Tensor:
    """w₂ · mean over all pairs of [−w₁ A log S − (1 − A) log(1 − S)] with S = σ(HHᵀ) and self-loops in A.

    −log(1 − S) is the softplus of h_i · h_j. Its sum over all pairs is streamed, so that memory is linear in N, and the
    difference to the terms of edges is then added for the edges only.
    """
    pairs = graphs.num_nodes**2
    # E = ΣA / 2 with self-loops in A, as in the published code: a loop counts half.
    count = (graphs.num_edges + graphs.num_nodes) / 2
    score = torch.cat([edge_scores(h, graphs), h.square().sum(1)])
    # w₁ = (N² − E) / E, on edges and loops in place of the softplus that the sum over all pairs has for them.
    instead = (pairs - count) / count * softplus(-score) - softplus(score)
    # w₂ times a mean over N² pairs is the sum over N² − E.
    return (pair_softplus(h) + instead.sum()).to(h.dtype) / (pairs - count)


METHOD = GMI
