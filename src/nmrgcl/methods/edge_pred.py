"""EdgePred (Hu et al. 2020, after Hamilton et al. 2017): tell the bonds of a molecule from other pairs of its atoms."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor

from nmrgcl.augment import AddEdges
from nmrgcl.contrast import belongs
from nmrgcl.contrast.cosine import widen
from nmrgcl.graphs import Graphs
from nmrgcl.methods import About, Level, MoleculePretraining
from nmrgcl.ops.neighbour_sum import edge_scores
from nmrgcl.train import Progress


class EdgePred(MoleculePretraining):
    """The inner product of two atoms tells whether there is a bond between them; nothing is hidden.

    As many pairs without a bond are drawn from each molecule as it has bonds, evenly and without repetition, or all
    such pairs where there are fewer. No pair is drawn that is a bond or an atom twice, so none has to be drawn again.
    """

    PRESETS: ClassVar[dict[Level, str]] = {"graph": "edge_pred"}
    MOLECULES = "edge_pred"
    ABOUT: ClassVar[About] = About(
        family="prediction of parts",
        paper="Hu, Liu, Gomes, Zitnik, Liang, Pande, Leskovec 2020: Strategies for Pre-training Graph Neural Networks",
        trains="the encoder alone",
        published="BBBP 67.3, ToxCast 64.1, SIDER 60.4, ClinTox 64.1 (fine-tuned, scaffold split, pre-trained on two "
        "million molecules of ZINC15, as arXiv 2203.12821 prints them; the test score at the epoch that is best on the "
        "validation part)",
        checked="the loss against its definition as slow loops; pairs that are drawn are no bonds, and as many as "
        "bonds; tests/methods/test_edge_pred.py",
    )

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """Mean cross-entropy of bonds plus that of the other pairs."""
        self.require_molecules(graphs)
        # A view gives the edges that it adds the feature zero, by which they are known here.
        marked = replace(graphs, edge_attr=torch.ones_like(graphs.pair)[:, None])
        pairs = AddEdges(1.0)(marked).merge_added()
        assert pairs.edge_attr is not None
        bond = pairs.edge_attr.squeeze(1) > 0
        scores = edge_scores(widen(self.encoder(graphs)), pairs)
        yield belongs(scores, pairs.live_edges & bond) + belongs(-scores, pairs.live_edges & ~bond)


METHOD = EdgePred
