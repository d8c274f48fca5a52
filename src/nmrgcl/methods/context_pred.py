"""ContextPred (Hu et al. 2020): match substructures of molecules with their surroundings."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import ClassVar

import torch
from torch import Tensor

from nmrgcl.augment.subgraph import random_nodes
from nmrgcl.contrast import belongs
from nmrgcl.encode import EdgeShape, build_encoder, pool
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.methods import About, Level, MoleculePretraining
from nmrgcl.ops import across_ranks, widen
from nmrgcl.ops.neighbour_sum import neighbour_sum
from nmrgcl.settings import Settings, setting
from nmrgcl.train import Progress


@dataclass(frozen=True)
class Options:
    """Distances from the root atom in bonds."""

    hops: int = setting(5, "largest distance of atoms in the substructure (K)", min=1)
    inner: int = setting(4, "atoms of the context are farther away than this (l1)", min=0)
    outer: int = setting(7, "largest distance of atoms in the context (l2)", min=1)


class ContextPred(MoleculePretraining):
    """Tell the context of a substructure, the ring of atoms around it, from the context of another molecule.

    The encoder embeds the substructure around a random root atom. A second encoder of ``outer - inner`` layers embeds
    the context, as the mean over the atoms that also belong to the substructure. The negative is the context of the
    next molecule in the batch that has one. Molecules without a context are ignored.
    """

    options: Options
    PRESETS: ClassVar[dict[Level, str]] = {"graph": "context_pred"}
    MOLECULES = "context_pred"
    ABOUT: ClassVar[About] = About(
        family="prediction of parts",
        paper="Hu, Liu, Gomes, Zitnik, Liang, Pande, Leskovec 2020: Strategies for Pre-training Graph Neural Networks",
        trains="the encoder and a smaller one for contexts, which is discarded",
        published="BBBP 68.0, ToxCast 63.9, SIDER 60.9, ClinTox 65.9 (fine-tuned, scaffold split, pre-trained on two "
        "million molecules of ZINC15, as printed in arXiv 2203.12821; the test score at the epoch that is best on the "
        "validation data)",
        checked="distances against breadth-first search, the context in a chain by hand, the loss against its "
        "definition as slow loops; tests/methods/test_context_pred.py",
    )
    ACROSS_RANKS = True

    def __init__(self, settings: Settings, num_features: int, edges: EdgeShape | None = None) -> None:
        super().__init__(settings, num_features, edges)
        hops, inner, outer = self.options.hops, self.options.inner, self.options.outer
        if not inner < hops <= outer:
            raise SettingError(
                f"method context_pred needs inner < hops <= outer, so that context and substructure overlap; found "
                f"inner = {inner}, hops = {hops}, outer = {outer}"
            )
        options = asdict(settings.encoder) | {"layers": outer - inner}
        del options["pool"]
        self.context = build_encoder(options.pop("name"), num_features, **options, edges=edges)

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """Cross-entropy of substructures with their own contexts, plus that with contexts of other molecules."""
        self.require_molecules(graphs)
        root = random_nodes(graphs, graphs.node_counts(), graphs.node_ptr[:-1])
        distance = hops_from(root, graphs, self.options.outer)
        ring = graphs.keep_nodes((distance > self.options.inner) & (distance <= self.options.outer))
        overlap = ring.keep_nodes(distance <= self.options.hops)
        there = overlap.node_counts() > 0
        # The context encoder sees the whole ring; its readout is over the atoms shared with the substructure.
        around = pool(widen(self.context(ring)), overlap, "mean")
        inside = widen(self.encoder(graphs.keep_nodes(distance <= self.options.hops))).index_select(0, root)
        own = (inside * around).sum(1)
        all_there = across_ranks.gather(there)
        # Negatives may be on another rank, so each rank looks for the next context in the whole batch.
        after = next_of(all_there).narrow(0, across_ranks.first_row(), graphs.num_graphs)
        others = (inside * across_ranks.gather(around).index_select(0, after)).sum(1)
        # With a single context in the batch, the next one would be the molecule's own.
        yield belongs(own, there) + belongs(-others, there & (all_there.sum() > 1))


@torch.no_grad()
def hops_from(root: Tensor, graphs: Graphs, most: int) -> Tensor:
    """``[N]`` the distance of each node from the ``root`` (``[B]``) of its graph; ``most + 1`` if it is farther."""
    node = torch.arange(graphs.num_nodes, device=graphs.device)
    reached = (root.index_select(0, graphs.batch) == node).float()[:, None]
    # A node at distance d is not yet reached in rounds 0 … d − 1, and each of these adds one.
    distance = 1 - reached
    for _ in range(most):
        # Only whether there is a walk matters; the number of walks would grow exponentially.
        reached = neighbour_sum(reached, graphs, self_weight=1.0).clamp_(max=1)
        distance += 1 - reached
    return distance.squeeze(1).long()


def next_of(there: Tensor) -> Tensor:
    """``[B]`` for each entry the index of the next one that is ``there`` (``[B]``, bool), cyclically."""
    # Entries that are there come first. The k-th of them, counted from 1, is followed by order[k], and the last by
    # order[0].
    order = torch.argsort((~there).long(), stable=True)
    place = there.cumsum(0) % there.sum().clamp(min=1)
    return order.index_select(0, place)


METHOD = ContextPred
