"""Extended-connectivity fingerprints."""

import numpy as np
import pytest

pytest.importorskip("rdkit", reason="RDKit is not installed (extra chem)")

from nmrgcl.data.molecules.fingerprints import ecfp
from nmrgcl.errors import DataError


def test_bits_of_small_molecules_by_hand() -> None:
    """Methane has one neighbourhood. Ethane has a methyl and a methyl beside a methyl, propane two more."""
    assert ecfp(["C", "CC", "CCC"]).sum(1).tolist() == [1, 2, 4]


def test_a_molecule_has_one_fingerprint_however_it_is_written() -> None:
    """Aspirin in two ways, and a molecule that differs."""
    first, second, third = ecfp(["CC(=O)Oc1ccccc1C(=O)O", "OC(=O)c1ccccc1OC(C)=O", "CC(=O)Oc1ccccc1C(=O)N"])
    assert np.array_equal(first, second)
    assert not np.array_equal(first, third)


def test_bits_and_radius() -> None:
    """A radius of 0 counts kinds of atoms."""
    assert ecfp(["CCO"], bits=64).shape == (1, 64)
    assert ecfp(["CCO"], radius=0).sum() == 3


def test_no_smiles() -> None:
    """The row is named."""
    with pytest.raises(DataError, match="row 2: 'nonsense' is not a SMILES"):
        ecfp(["C", "nonsense"])
