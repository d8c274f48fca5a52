"""JOAO and JOAOv2 (You et al. 2021): GraphCL that learns which augmentations to draw."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from nmrgcl.augment import Drawn, Identity, View, build_view
from nmrgcl.contrast import graphcl_loss
from nmrgcl.encode import EdgeShape, Head
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.methods import About, Level, Pretraining
from nmrgcl.ops import across_ranks
from nmrgcl.settings import Settings, setting
from nmrgcl.settings.check import ViewChoices
from nmrgcl.train import Progress

SHARE = 5
"""One in so many batches, plus one, is used to estimate the losses of all pairs of views."""


@dataclass(frozen=True)
class Options:
    """The loss, its heads, and how strongly the distribution over pairs of views is kept uniform."""

    tau: float = setting(0.2, "temperature of the loss (τ)", above=0)
    gamma: float = setting(0.1, "pull of the distribution towards the uniform one (γ)", min=0)
    heads: Literal["shared", "per_view"] = setting("shared", "one head for all views, or one for each (JOAOv2)")
    head_units: int = setting(0, "width of the projection head; 0: as wide as the representation", min=0)


class JOAO(Pretraining):
    """Contrast two views of a graph; after each epoch, pairs of views with a high loss become more likely."""

    options: Options
    PRESETS: ClassVar[dict[Level, str]] = {"graph": "joao"}
    ABOUT = About(
        family="contrastive",
        paper="You, Chen, Shen, Wang 2021: Graph Contrastive Learning Automated",
        trains="the encoder and the head, or one head per view (JOAOv2: preset joaov2), by gradients; a distribution "
        "over pairs of views by projection after each epoch; only the encoder is needed to embed",
        published="its TU scores are not available here; on molecules BBBP 70.2, ToxCast 62.9, SIDER 60.0, "
        "ClinTox 81.3 (not verified)",
        checked="a step of the distribution and its projection onto the simplex by hand; tests/methods/test_joao.py",
    )
    ACROSS_RANKS = True
    chance: Tensor
    head_of: Tensor

    def __init__(self, settings: Settings, num_features: int, edges: EdgeShape | None = None) -> None:
        super().__init__(settings, num_features, edges)
        self.sides = [_views(settings.views.first), _views(settings.views.second)]
        kinds = list(dict.fromkeys(view for side in self.sides for view in side))
        count = len(kinds) if self.options.heads == "per_view" else 1
        self.heads = nn.ModuleList(Head(self.encoder.units, self.options.head_units) for _ in range(count))
        self.heads_of_pairs = [[kinds.index(view) % count for view in pair] for pair in product(*self.sides)]
        pairs = len(self.heads_of_pairs)
        self.register_buffer("chance", torch.full((pairs,), 1 / pairs))
        self.register_buffer("head_of", torch.tensor(self.heads_of_pairs).T.contiguous(), persistent=False)

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """The GraphCL loss, where each graph draws a pair of views."""
        bounds = self.chance.double().cumsum(0)
        # Times the last bound, because rounded probabilities need not sum to exactly one.
        draw = torch.rand(graphs.num_graphs, dtype=torch.float64, device=graphs.device) * bounds[-1]
        yield self.contrast(graphs, torch.searchsorted(bounds, draw, right=True).clamp_(max=len(bounds) - 1))

    def contrast(self, graphs: Graphs, pair: Tensor) -> Tensor:
        """The GraphCL loss where graph i uses the pair of views with index ``pair[i]`` (``[B]``)."""
        second = len(self.sides[1])
        # Pairs are numbered as itertools.product lists them: the second side varies fastest.
        views = [Drawn(side, number) for side, number in zip(self.sides, (pair // second, pair % second), strict=True)]
        z1, z2 = self.project(self.embed_views(graphs, *views), self.head_of.index_select(1, pair).flatten()).chunk(2)
        return graphcl_loss(z1, z2, tau=self.options.tau)

    def project(self, r: Tensor, which: Tensor) -> Tensor:
        """``[2B, ·]``: row i through head ``which[i]``, or all rows through the only head."""
        if len(self.heads) == 1:
            return torch.as_tensor(self.heads[0](r))
        # Every head sees all rows: shapes that depend on the draws could not be recorded.
        own = which == torch.arange(len(self.heads), device=r.device)[:, None]
        return torch.stack([head(r) for head in self.heads]).masked_fill(~own[:, :, None], 0.0).sum(0)

    def survey(self, batches: Iterator[Graphs], progress: Progress) -> None:
        """Before each epoch but the first, update the distribution by the mean loss of every pair of views.

        Batch norm is in evaluation mode, so that its statistics are those of training only.
        """
        if progress.epoch == 1:
            return
        # This is an estimate of losses, no training; the published code lets the running statistics drift here.
        self.eval()
        few = islice(batches, progress.steps // progress.epochs // SHARE + 1)
        losses = torch.stack([self.estimate(graphs) for graphs in few]).mean(0)
        self.train()
        # In place, because recorded steps read from this address.
        self.chance.copy_(moved(self.chance, across_ranks.average(losses), self.options.gamma))

    def estimate(self, graphs: Graphs) -> Tensor:
        """``[K]`` the loss of each pair of views if all ``graphs`` use it; every view is drawn only once."""
        sides = ([self.embed(view(graphs)) for view in side] for side in self.sides)
        pairs = zip(product(*sides), self.heads_of_pairs, strict=True)
        scored = ([self.heads[number](r) for r, number in zip(pair, heads, strict=True)] for pair, heads in pairs)
        return torch.stack([graphcl_loss(z1, z2, tau=self.options.tau) for z1, z2 in scored])


def moved(chance: Tensor, losses: Tensor, gamma: float) -> Tensor:
    """One gradient ascent step on losses − γ/2 · ‖p − uniform‖², followed by projection onto the simplex."""
    return on_simplex(chance + losses.to(chance.dtype) - gamma * (chance - 1 / len(chance)))


def on_simplex(b: Tensor) -> Tensor:
    """The distribution nearest to ``b``: max(b − μ, 0), with the μ for which it sums to one."""
    largest = b.sort(descending=True).values
    count = torch.arange(1, len(b) + 1, dtype=b.dtype, device=b.device)
    mu = (largest.cumsum(0) - 1) / count
    # The k-th largest entry stays positive if it exceeds the μ that the k largest entries alone would have.
    return (b - mu[(largest > mu).sum() - 1]).clamp(min=0)


def _views(choices: ViewChoices) -> tuple[View, ...]:
    if any("weight" in choice for choice in choices):
        raise SettingError("method joao learns how often views are drawn; leave out their weights")
    return tuple(build_view([choice]) for choice in choices) or (Identity(),)


METHOD = JOAO
