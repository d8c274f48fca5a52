"""How close molecules are to those a model was trained on: a hint of whether it can be relied on."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nmrgcl.data.molecules.fingerprints import BITS, ecfp

AT_A_TIME = 2048
"""Molecules that are compared with as many others at once."""


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
    """``[M]`` each: the number of the most similar known molecule, the first of equals, and its Tanimoto similarity.

    That is the number of bits that both have, divided by the number that at least one has.
    """
    number, similarity = np.zeros(len(bits), np.int64), np.full(len(bits), -1.0)
    for first in range(0, len(known.packed), AT_A_TIME):
        theirs = np.unpackbits(known.packed[first : first + AT_A_TIME], axis=1, count=BITS).astype(np.float32)
        for start in range(0, len(bits), AT_A_TIME):
            rows = slice(start, start + AT_A_TIME)
            found = tanimoto(bits[rows].astype(np.float32), theirs)
            best = found.argmax(1)
            value = found[np.arange(len(found)), best]
            better = value > similarity[rows]
            number[rows] = np.where(better, best + first, number[rows])
            similarity[rows] = np.where(better, value, similarity[rows])
    return number, similarity


def tanimoto(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``[M, N]`` of rows of 0 and 1; two molecules without any bit are alike."""
    both = a @ b.T
    either = a.sum(1)[:, None] + b.sum(1)[None] - both
    return np.where(either > 0, both / np.maximum(either, 1), 1.0)
