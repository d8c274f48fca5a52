"""Similarity to the training set: RDKit's, the nearest of all."""

import numpy as np
import pytest

from nmrgcl.data.molecules.fingerprints import ecfp, tanimoto
from nmrgcl.predict import similarity
from nmrgcl.predict.similarity import Known, nearest_known
from tests.predict.planted import SMILES

pytest.importorskip("rdkit", reason="RDKit makes fingerprints")


def test_similarity_by_hand() -> None:
    a = np.array([[1, 1, 0, 0], [0, 0, 0, 0]], np.float32)
    b = np.array([[1, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]], np.float32)
    np.testing.assert_allclose(tanimoto(a, b), np.array([[2 / 3, 0, 0], [0, 0, 0]]))


def test_the_nearest_is_that_of_rdkit_whatever_is_compared_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    from rdkit import Chem, DataStructs
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

    monkeypatch.setattr(similarity, "AT_A_TIME", 7)
    generator = GetMorganGenerator(radius=2, fpSize=2048)
    theirs = [generator.GetFingerprint(Chem.MolFromSmiles(text)) for text in SMILES]
    train, asked = range(0, len(SMILES), 2), range(1, len(SMILES), 2)
    number, value = nearest_known(ecfp([SMILES[i] for i in asked]), Known.of([SMILES[i] for i in train]))
    for row, i in enumerate(asked):
        expected = DataStructs.BulkTanimotoSimilarity(theirs[i], [theirs[j] for j in train])
        assert value[row] == pytest.approx(max(expected))
        assert number[row] == int(np.argmax(expected))


def test_what_follows_a_smiles_in_its_cell_is_not_kept() -> None:
    assert Known.of(["CCO ethanol", "C"]).smiles == ["CCO", "C"]
