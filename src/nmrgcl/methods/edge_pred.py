"""EdgePred (Hu et al. 2020, after Hamilton et al. 2017): distinguish bonds from other pairs of atoms of a molecule."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor

from nmrgcl.augment import AddEdges
from nmrgcl.contrast import belongs
from nmrgcl.graphs import Graphs
from nmrgcl.methods import About, Level, MoleculePretraining
from nmrgcl.ops import widen
from nmrgcl.ops.neighbour_sum import edge_scores
from nmrgcl.train import Progress


class EdgePred(MoleculePretraining):
    """Predict from the inner product of two atoms whether there is a bond between them; nothing is masked.

    From each molecule, as many pairs without a bond are drawn as it has bonds, uniformly and without replacement, or
    all such pairs if there are fewer.
    """

    PRESETS: ClassVar[dict[Level, str]] = {"graph": "edge_pred"}
    MOLECULES = "edge_pred"
    ABOUT: ClassVar[About] = About(
        family="prediction of parts",
        paper="Hu, Liu, Gomes, Zitnik, Liang, Pande, Leskovec 2020: Strategies for Pre-training Graph Neural Networks",
        trains="the encoder only",
        published="BBBP 67.3, ToxCast 64.1, SIDER 60.4, ClinTox 64.1 (fine-tuned, scaffold split, pre-trained on two "
        "million molecules of ZINC15, as printed in arXiv 2203.12821; the test score at the epoch that is best on the "
        "validation data)",
        checked="the loss against its definition as slow loops; drawn pairs are not bonds, and there are as many as "
        "bonds; tests/methods/test_edge_pred.py",
    )
    ACROSS_RANKS = True

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """Mean cross-entropy of bonds, plus that of the other pairs."""
        self.require_molecules(graphs)
        # Edges added by a view have feature zero, which tells them from bonds here.
        marked = replace(graphs, edge_attr=torch.ones_like(graphs.pair)[:, None])
        # p = 1 draws as many free pairs as there are bonds (Hu et al. 2020), and never a bond or an atom with itself.
        pairs = AddEdges(1.0)(marked).merge_added()
        assert pairs.edge_attr is not None
        bond = pairs.edge_attr.squeeze(1) > 0
        scores = edge_scores(widen(self.encoder(graphs)), pairs)
        yield belongs(scores, pairs.live_edges & bond) + belongs(-scores, pairs.live_edges & ~bond)


METHOD = EdgePred
