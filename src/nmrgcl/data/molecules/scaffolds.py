"""Bemis–Murcko scaffolds: the rings of a molecule and their linkers."""

from collections.abc import Sequence

import numpy as np

from nmrgcl.data.molecules.chemistry import rdkit


def scaffolds(smiles: Sequence[str]) -> list[str]:
    """Return the scaffold of each molecule, with chirality; it is empty for a molecule without rings."""
    with rdkit() as chem:
        from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

        return [MurckoScaffoldSmiles(mol=chem.MolFromSmiles(text), includeChirality=True) for text in smiles]


def numbered(scaffolds: Sequence[str] | Sequence[int]) -> np.ndarray:
    """Number scaffolds from 0 in order of first appearance, ``[M]`` int64."""
    known: dict[str | int, int] = {}
    return np.array([known.setdefault(scaffold, len(known)) for scaffold in scaffolds], np.int64)
