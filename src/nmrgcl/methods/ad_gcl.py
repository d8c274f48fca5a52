"""AD-GCL (Suresh et al. 2021): an adversary chooses the edges of a view."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from nmrgcl.contrast import graphcl_loss
from nmrgcl.encode import GAT, EdgeShape, Foreign, Head, build_encoder
from nmrgcl.encode.edge_score import EdgeScore
from nmrgcl.errors import DataError, SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.methods import About, Level, Pretraining
from nmrgcl.ops import across_ranks, widen
from nmrgcl.settings import Settings, TrainSettings, setting
from nmrgcl.train import Optimiser, Progress

SUREST = 1e-4
"""Uniform noise is drawn from this to one minus this, so that its logit is finite."""


@dataclass(frozen=True)
class Options:
    """The loss, its projection head, and the penalty on removing edges."""

    tau: float = setting(0.2, "temperature of the loss (τ)", above=0)
    penalty: float = setting(5.0, "penalty on the mean fraction of removed edges (λ)", min=0)
    head_units: int = setting(0, "width of the projection head; 0: as wide as the representation", min=0)


class ADGCL(Pretraining):
    """Contrast a graph with an edge-weighted copy; a learner chooses the weights to maximise the loss."""

    options: Options
    PRESETS: ClassVar[dict[Level, str]] = {"graph": "ad_gcl"}
    ABOUT = About(
        family="contrastive, adversarial",
        paper="Suresh, Li, Hao, Neville 2021: Adversarial Graph Augmentation to Improve Graph Contrastive Learning",
        trains="the encoder and its projection head by one optimiser, and a second encoder with an edge scorer, which "
        "make the views, by another; only the first encoder is needed to embed",
        published="PROTEINS 73.59, DD 74.49, MUTAG 89.25, IMDB-BINARY 71.57 with a fixed λ, by a linear SVM at the "
        "epoch that is best on validation data; constant node features; likewise NCI1 69.67, COLLAB 73.32 (not "
        "verified); on molecules BBBP 70.01, ToxCast 63.07, SIDER 63.28, ClinTox 79.78 (not verified)",
        checked="the edge penalty by hand; the learner raises the loss and the encoder lowers it; "
        "tests/methods/test_ad_gcl.py",
    )
    ACROSS_RANKS = True

    def __init__(self, settings: Settings, num_features: int, edges: EdgeShape | None = None) -> None:
        super().__init__(settings, num_features, edges)
        if isinstance(self.encoder, GAT | Foreign):
            raise SettingError("method ad_gcl learns edge weights; use encoder.name = gin, gcn or molecule")
        options = asdict(settings.encoder)
        del options["pool"]
        self.head = Head(self.encoder.units, self.options.head_units)
        self.learner = build_encoder(options.pop("name"), num_features, **options, edges=edges)
        self.score = EdgeScore(self.learner.units)

    def require_sizes(self, nodes: Tensor, edges: Tensor) -> None:
        """Refuse graphs without edges."""
        if not int(edges.sum()):
            raise DataError("method ad_gcl learns which edges to remove, and these graphs have none")

    def optimisers(self, options: TrainSettings) -> list[Optimiser]:
        """One for the encoder, whose loss epochs report, and one for the learner."""
        ours, theirs = (nn.ModuleList(parts) for parts in ((self.encoder, self.head), (self.learner, self.score)))
        return [Optimiser(player.parameters(), lr=options.lr) for player in (ours, theirs)]

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """Both players use the same edge weights: first the encoder takes a step with them, then the learner."""
        # The encoder's step changes no weight of the learner, so this graph is still valid at the second yield.
        weight = self.weights(graphs)
        # Detached, because the learner plays against this loss and takes a step of its own below.
        z = self.head(torch.cat([self.embed(graphs), self.embed(weighted(graphs, weight.detach()))]))
        yield self.contrast(*z.chunk(2))
        with torch.no_grad():  # The embeddings of the unweighted graphs do not depend on the learner.
            plain = self.head(self.embed(graphs))
        away = share_away(weight, graphs)
        # The learner maximises L − λ · removed share; its optimiser minimises, so both signs are reversed.
        yield self.options.penalty * away - self.contrast(plain, self.head(self.embed(weighted(graphs, weight))))

    def weights(self, graphs: Graphs) -> Tensor:
        """Relaxed Bernoulli samples ``[E]`` of whether edges are kept, equal in both directions."""
        # One draw per undirected edge: both directions read that of the first one (pair).
        chance = torch.rand(graphs.num_edges, device=graphs.device).mul_(1 - 2 * SUREST).add_(SUREST)
        logit = self.score(self.learner(graphs), graphs)
        # Binary concrete at temperature 1: log δ − log(1 − δ) + logit, as in the published code.
        return torch.sigmoid(widen(logit) + chance.logit().index_select(0, graphs.pair))

    def contrast(self, z1: Tensor, z2: Tensor) -> Tensor:
        """The mean of the losses in both directions; the denominator does not include the positive."""
        return (graphcl_loss(z1, z2, tau=self.options.tau) + graphcl_loss(z2, z1, tau=self.options.tau)) / 2


def weighted(graphs: Graphs, weight: Tensor) -> Graphs:
    """The graphs with their edge weights multiplied by ``weight``."""
    return replace(graphs, edge_weight=weight if graphs.edge_weight is None else weight * graphs.edge_weight)


def share_away(weight: Tensor, graphs: Graphs) -> Tensor:
    """1 − ``weight`` (``[E]``), averaged over the edges of each graph and then over graphs with edges."""
    owner = graphs.batch.index_select(0, graphs.edge_index[1])
    live = graphs.live_edges.to(weight.dtype)
    count = weight.new_zeros(graphs.num_graphs).index_add_(0, owner, live)
    some = across_ranks.add_up((count > 0).sum()).clamp(min=1)
    each = live / count.clamp(min=1).index_select(0, owner) / some
    # Gradients are averaged over ranks, so a rank's part of the mean counts that many times.
    return ((1 - weight) * each).sum() * across_ranks.count_ranks()


METHOD = ADGCL
