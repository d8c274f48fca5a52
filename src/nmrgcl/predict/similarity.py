"""How close molecules are to those a model was trained on: a hint of whether it can be relied on."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nmrgcl.data.molecules.fingerprints import BITS, ecfp, tanimoto
from nmrgcl.run.nearest import Nearest

AT_A_TIME = 2048
"""Known molecules that are compared with others at once."""


@dataclass(frozen=True, eq=False)
class Known:
    """The training molecules: their SMILES, and their fingerprints as ``[M, BITS / 8]`` bytes."""

    smiles: list[str]
    packed: np.ndarray

    @classmethod
    def of(cls, smiles: Sequence[str], bits: np.ndarray | None = None) -> "Known":
        """Those of these molecules; ``bits`` ``[M, BITS]`` are made unless given. What follows a SMILES is dropped."""
        return cls([text.split()[0] for text in smiles], np.packbits(ecfp(smiles) if bits is None else bits, axis=1))


def nearest_known(bits: np.ndarray, known: Known) -> tuple[np.ndarray, np.ndarray]:
    """``[M]`` each: the number of the most similar known molecule, the first of equals, and its Tanimoto similarity."""
    nearest = Nearest(bits, 1, tanimoto)
    for first in range(0, len(known.packed), AT_A_TIME):
        theirs = np.unpackbits(known.packed[first : first + AT_A_TIME], axis=1, count=BITS)
        nearest.add(theirs, np.arange(first, first + len(theirs)))
    return nearest.row[:, 0], nearest.value[:, 0]
