"""Bemis–Murcko scaffolds: the rings of a molecule and what links them."""

from collections.abc import Sequence

import numpy as np

from nmrgcl.data.molecules.chemistry import rdkit


def scaffolds(smiles: Sequence[str]) -> list[str]:
    """The scaffold of each valid molecule, with chirality; empty for a molecule without rings."""
    with rdkit() as chem:
        from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

        return [MurckoScaffoldSmiles(mol=chem.MolFromSmiles(text), includeChirality=True) for text in smiles]


def numbered(scaffolds: Sequence[str] | Sequence[int]) -> np.ndarray:
    """``[M]`` int64: scaffolds counted from 0 in the order they are met."""
    known: dict[str | int, int] = {}
    return np.array([known.setdefault(scaffold, len(known)) for scaffold in scaffolds], np.int64)
