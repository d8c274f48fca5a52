"""Extended-connectivity fingerprints (Rogers & Hahn 2010), which RDKit calls Morgan fingerprints."""

from collections.abc import Sequence

import numpy as np

from nmrgcl.data.molecules.chemistry import rdkit
from nmrgcl.errors import DataError, printable

RADIUS, BITS = 2, 2048
"""ECFP4, the usual choice: neighbourhoods of up to two bonds, folded to so many bits."""


def ecfp(smiles: Sequence[str], *, radius: int = RADIUS, bits: int = BITS) -> np.ndarray:
    """``[M, bits]`` uint8: 1 where a molecule has a neighbourhood of that number."""
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
