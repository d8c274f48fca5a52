"""Extended-connectivity fingerprints (Rogers & Hahn 2010), which RDKit calls Morgan fingerprints."""

from collections.abc import Iterator, Sequence

import numpy as np

from nmrgcl.data.molecules.chemistry import rdkit
from nmrgcl.data.molecules.smiles import AT_A_TIME, MANY
from nmrgcl.errors import DataError, printable

RADIUS, BITS = 2, 2048
"""ECFP4, the usual choice: neighbourhoods of radius 2, folded to 2048 bits."""


def ecfp(smiles: Sequence[str], *, radius: int = RADIUS, bits: int = BITS) -> np.ndarray:
    """Return ``[M, bits]`` uint8 fingerprints: 1 where a molecule has a neighbourhood with that hash."""
    rows = np.zeros((len(smiles), bits), np.uint8)
    with rdkit() as chem:
        from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

        generator = GetMorganGenerator(radius=radius, fpSize=bits)
        for row, text in enumerate(smiles):
            molecule = chem.MolFromSmiles(text)
            if molecule is None:
                raise DataError(printable(f"row {row + 1}: {text!r} is not a SMILES"))
            rows[row] = generator.GetFingerprintAsNumPy(molecule)
    return rows


def ecfp_in_parts(smiles: Sequence[str]) -> Iterator[np.ndarray]:
    """Yield fingerprints a few thousand at a time; many molecules are processed on all cores."""
    from joblib import Parallel, delayed

    parts = (smiles[first : first + AT_A_TIME] for first in range(0, len(smiles), AT_A_TIME))
    jobs = 1 if len(smiles) < MANY else -1
    for packed in Parallel(n_jobs=jobs, return_as="generator")(delayed(_packed)(part) for part in parts):
        yield np.unpackbits(packed, axis=1)


def tanimoto(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the ``[A, B]`` Tanimoto similarities: shared bits over all bits of a pair, 0 if both are empty."""
    both = first.astype(np.float32) @ second.astype(np.float32).T  # exact: counts are far below 2²⁴
    either = first.sum(1, dtype=np.float32)[:, None] + second.sum(1, dtype=np.float32) - both
    return both / np.maximum(either, 1)


def _packed(smiles: Sequence[str]) -> np.ndarray:
    """Pack eight bits per byte for the transfer between processes."""
    return np.packbits(ecfp(smiles), axis=1)
