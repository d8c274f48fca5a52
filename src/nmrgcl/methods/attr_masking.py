"""AttrMasking (Hu et al. 2020): mask the types of some atoms and predict them from the rest of the molecule."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from nmrgcl.augment.nodes import draw_nodes
from nmrgcl.data.molecules.vocabulary import ATOMS, BONDS
from nmrgcl.encode import EdgeShape
from nmrgcl.graphs import Graphs
from nmrgcl.methods import About, Level, MoleculePretraining
from nmrgcl.ops import across_ranks
from nmrgcl.settings import Settings, setting
from nmrgcl.train import Progress

MASK = ATOMS - 1
"""The type that masked atoms get, and the number of types to predict."""


@dataclass(frozen=True)
class Options:
    """What is masked."""

    mask: float = setting(0.15, "share m of the n atoms of a molecule to mask: ⌊m n + 1⌋", above=0, below=1)
    mask_bonds: bool = setting(False, "also mask the bonds of masked atoms and predict their types")


class AttrMasking(MoleculePretraining):
    """Predict the types of masked atoms, ⌊0.15 n + 1⌋ of the n atoms of each molecule; nothing is contrasted.

    A masked atom has the type reserved for masks and no chirality. A masked bond has no features, like a bond added by
    a view; its type is predicted from the sum of the embeddings of its two atoms. Atoms and bonds of unknown type are
    not targets.
    """

    options: Options
    PRESETS: ClassVar[dict[Level, str]] = {"graph": "attr_masking"}
    MOLECULES = "attr_masking"
    ABOUT: ClassVar[About] = About(
        family="prediction of parts",
        paper="Hu, Liu, Gomes, Zitnik, Liang, Pande, Leskovec 2020: Strategies for Pre-training Graph Neural Networks",
        trains="the encoder and a linear map to types, which is discarded",
        published="BBBP 64.3, ToxCast 64.2, SIDER 61.0, ClinTox 71.8 (fine-tuned, scaffold split, pre-trained on two "
        "million molecules of ZINC15, as printed in arXiv 2203.12821; the test score at the epoch that is best on the "
        "validation data)",
        checked="the loss against its definition as slow loops; the number and features of masked atoms; training "
        "leaves the graphs unchanged; tests/methods/test_attr_masking.py",
    )
    ACROSS_RANKS = True

    def __init__(self, settings: Settings, num_features: int, edges: EdgeShape | None = None) -> None:
        super().__init__(settings, num_features, edges)
        self.atom_types = nn.Linear(self.encoder.units, MASK)
        self.bond_types = nn.Linear(self.encoder.units, BONDS[0]) if self.options.mask_bonds else None

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """Mean cross-entropy of the types of masked atoms, plus that of masked bonds."""
        self.require_molecules(graphs)
        hidden = self._drawn(graphs)
        kind, chirality = graphs.x.unbind(1)
        # The rows of chirality follow those of types, so row ATOMS is "unspecified": [119, 0] in Hu et al.
        x = torch.stack([torch.where(hidden, MASK, kind), torch.where(hidden, ATOMS, chirality)], 1)
        shown = replace(graphs, x=x)
        if self.bond_types is None:
            yield class_error(self.atom_types(self.encoder(shown)), kind, hidden)
            return
        assert graphs.edge_attr is not None
        source, destination = graphs.edge_index
        touched = hidden.index_select(0, source) | hidden.index_select(0, destination)
        shown = replace(shown, edge_attr=torch.where(touched[:, None], 0, graphs.edge_attr))
        h = self.encoder(shown)
        # The map commutes with the sum of both ends, and there are fewer atoms than directed bonds.
        each = h @ self.bond_types.weight.T
        scores = each.index_select(0, source) + each.index_select(0, destination) + self.bond_types.bias
        # Types count from 1 with 0 for none, which becomes −1 here and so is no target.
        bonds = class_error(scores, graphs.edge_attr[:, 0] - 1, touched & graphs.live_edges)
        yield class_error(self.atom_types(h), kind, hidden) + bonds

    def _drawn(self, graphs: Graphs) -> Tensor:
        """``[N]`` whether each atom is masked; in float64, so that whole numbers are not rounded down by mistake."""
        count = (self.options.mask * graphs.node_counts().double() + 1).long()
        order, first = draw_nodes(graphs, count)
        hidden = torch.zeros_like(first).index_copy_(0, order, first)
        return hidden if graphs.node_keep is None else hidden & graphs.node_keep


def class_error(scores: Tensor, kind: Tensor, chosen: Tensor) -> Tensor:
    """Mean cross-entropy of the ``chosen`` rows (``[N]``, bool) whose ``kind`` is a valid class; 0 if none."""
    chosen = chosen & (kind >= 0) & (kind < scores.shape[1])
    # Ignored rather than cut out, so that shapes do not depend on the draw.
    error = cross_entropy(scores, torch.where(chosen, kind, -1), ignore_index=-1, reduction="sum")
    return across_ranks.ratio(error, chosen.sum())


METHOD = AttrMasking
