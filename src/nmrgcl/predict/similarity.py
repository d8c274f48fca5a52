"""Similarity of molecules to the training molecules, which indicates how reliable a prediction is."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nmrgcl.data.molecules.fingerprints import BITS, ecfp, tanimoto
from nmrgcl.run.nearest import Nearest

AT_A_TIME = 2048
"""Number of training molecules that are compared at a time."""


@dataclass(frozen=True, eq=False)
class Known:
    """The training molecules: SMILES, and fingerprints packed as ``[M, BITS / 8]`` bytes."""

    smiles: list[str]
    packed: np.ndarray

    @classmethod
    def of(cls, smiles: Sequence[str], bits: np.ndarray | None = None) -> "Known":
        """Store these molecules; ``bits`` ``[M, BITS]`` are computed if None. Text after a SMILES is dropped."""
        return cls([text.split()[0] for text in smiles], np.packbits(ecfp(smiles) if bits is None else bits, axis=1))


def nearest_known(bits: np.ndarray, known: Known) -> tuple[np.ndarray, np.ndarray]:
    """Return index and Tanimoto similarity, ``[M]`` each, of the first most similar training molecule."""
    nearest = Nearest(bits, 1, tanimoto)
    for first in range(0, len(known.packed), AT_A_TIME):
        theirs = np.unpackbits(known.packed[first : first + AT_A_TIME], axis=1, count=BITS)
        nearest.add(theirs, np.arange(first, first + len(theirs)))
    return nearest.row[:, 0], nearest.value[:, 0]
