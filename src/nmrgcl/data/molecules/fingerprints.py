"""Extended-connectivity fingerprints (Rogers & Hahn 2010), which RDKit calls Morgan fingerprints."""

from collections.abc import Iterator, Sequence

import numpy as np
from joblib import Parallel, delayed

from nmrgcl.data.molecules.chemistry import rdkit
from nmrgcl.data.molecules.smiles import AT_A_TIME, Invalid, _parsed, _RefusedError, _shown
from nmrgcl.errors import DataError, printable

RADIUS, BITS = 2, 2048
"""ECFP4, the usual choice: neighbourhoods of up to two bonds, folded to so many bits."""


def ecfp(smiles: Sequence[str], *, radius: int = RADIUS, bits: int = BITS) -> np.ndarray:
    """``[M, bits]`` uint8: 1 where a molecule has a neighbourhood of that number."""
    packed, invalid = _packed(smiles, 0, radius, bits)
    if invalid:
        raise DataError(printable(f"row {invalid[0].row + 1}: {smiles[invalid[0].row]!r} is not a SMILES"))
    return np.unpackbits(packed, axis=1, count=bits)


def ecfp_in_parts(smiles: Sequence[str | None], *, jobs: int) -> Iterator[tuple[np.ndarray, list[Invalid]]]:
    """Fingerprints of the valid ones, one part at a time, and the rows that are left out; by ``jobs`` processes."""
    firsts = range(0, len(smiles), AT_A_TIME)
    found = Parallel(n_jobs=jobs, return_as="generator")(
        delayed(_packed)(smiles[first : first + AT_A_TIME], first) for first in firsts
    )
    for packed, invalid in found:
        yield np.unpackbits(packed, axis=1), invalid


def tanimoto(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """``[A, B]``: of the bits that either of two fingerprints has, the share that both have; 0 where there are none."""
    both = first.astype(np.float32) @ second.astype(np.float32).T  # exact: counts are far below 2²⁴
    either = first.sum(1, dtype=np.float32)[:, None] + second.sum(1, dtype=np.float32) - both
    return both / np.maximum(either, 1)


def _packed(
    smiles: Sequence[str | None], first: int, radius: int = RADIUS, bits: int = BITS
) -> tuple[np.ndarray, list[Invalid]]:
    """Eight bits per byte, as they may go to another process; rows of invalid ones count from ``first``."""
    rows, invalid = np.zeros((len(smiles), bits), np.uint8), []
    with rdkit() as chem:
        from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

        generator = GetMorganGenerator(radius=radius, fpSize=bits)
        for row, text in enumerate(smiles):
            try:
                rows[row] = generator.GetFingerprintAsNumPy(_parsed(chem, text))
            except _RefusedError as refused:
                invalid.append(Invalid(first + row, _shown(text), str(refused)))
    valid = np.setdiff1d(np.arange(len(smiles)), [one.row - first for one in invalid])
    return np.packbits(rows[valid], axis=1), invalid
