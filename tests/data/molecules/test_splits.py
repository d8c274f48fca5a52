from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

from nmrgcl.data.molecules import Molecules, read_molecules, split_molecules
from nmrgcl.data.molecules.splits import random_split, scaffold_split, scaffolds
from nmrgcl.data.splits import Split
from nmrgcl.errors import DataError, SettingError


def lists(split: Split) -> list[list[int]]:
    return [split.train.tolist(), split.valid.tolist(), split.test.tolist()]


def slowly(names: Sequence[str]) -> list[list[int]]:
    """The definition of Hu et al. 2020."""
    groups = [[i for i, other in enumerate(names) if other == name] for name in dict.fromkeys(names)]
    parts: list[list[int]] = [[], [], []]
    for group in sorted(groups, key=lambda group: (len(group), group[0]), reverse=True):
        train, valid, test = parts
        if len(train) + len(group) <= 0.8 * len(names):
            train += group
        elif len(train) + len(valid) + len(group) <= (0.8 + 0.1) * len(names):
            valid += group
        else:
            test += group
    return [sorted(part) for part in parts]


def test_scaffolds_by_hand() -> None:
    smiles = [
        "CCO",
        "Cc1ccccc1",
        "O=C(C1CC1)CCc1ccccc1",
        "C1CC[C@H]2CCCC[C@@H]2C1",
        "C1CC[C@H]2CCCC[C@H]2C1",
        "[Na+].[Cl-]",
    ]
    benzene, linked, trans, cis = scaffolds(smiles)[1:5]
    assert benzene == "c1ccccc1"
    assert linked == "O=C(CCc1ccccc1)C1CC1"  # RDKit keeps what is bound to a linker by a double bond
    assert trans != cis
    assert [scaffolds(smiles)[i] for i in (0, 5)] == ["", ""]


def test_a_split_by_hand() -> None:
    # a: 6 of 10 → train. d (first met at 9), c (8) and b (6, 7): the pair is largest, and train has room for it. Then
    # d → valid and c → test.
    assert lists(scaffold_split([*"aaaaaabbcd"])) == [[0, 1, 2, 3, 4, 5, 6, 7], [9], [8]]


@given(st.lists(st.sampled_from("abcdefghijklmnop"), min_size=10, max_size=60))
def test_the_split_is_the_slow_definition_and_no_scaffold_is_in_two_parts(names: list[str]) -> None:
    expected = slowly(names)
    assume(all(expected))
    split = scaffold_split(names)
    assert lists(split) == expected
    train, valid, test = ({names[i] for i in part} for part in lists(split))
    assert not train & valid
    assert not train & test
    assert not valid & test
    # What the scaffolds are called does not matter.
    assert lists(scaffold_split([chr(ord("z") - ord(name) + ord("a")) for name in names])) == expected


def test_the_split_of_bbbp_is_the_slow_definition(mirror: Path) -> None:
    if not (mirror / "moleculenet").is_dir():
        pytest.skip(f"{mirror} has no folder moleculenet")
    molecules = read_molecules(mirror / "moleculenet" / "BBBP.csv")
    names = [MurckoScaffoldSmiles(smiles=text, includeChirality=True) for text in molecules.smiles]
    split = split_molecules(molecules)
    assert lists(split) == slowly(names)
    assert [len(part) for part in lists(split)] == [1631, 204, 204]


def test_random_splits_are_seeded_and_cover_everything() -> None:
    split = random_split(103, seed=3)
    assert [len(part) for part in lists(split)] == [82, 11, 10]
    assert sorted(np.concatenate(lists(split)).tolist()) == list(range(103))
    assert lists(split) == lists(random_split(103, seed=3))
    assert lists(split) != lists(random_split(103, seed=4))


def test_the_seed_of_a_random_split_is_passed_on(tmp_path: Path) -> None:
    (tmp_path / "a.smi").write_text("\n".join("C" * length for length in range(1, 31)))
    found = split_molecules(read_molecules(tmp_path / "a.smi"), "random", seed=1)
    assert lists(found) == lists(random_split(30, seed=1))


@pytest.fixture
def molecules(tmp_path: Path) -> Molecules:
    (tmp_path / "a.csv").write_text("smiles,fold,other\nC,Train,1\nCC,test,x\nxx,test,\nCCC,val,2\nO,,3\nN,train,4\n")
    return read_molecules(tmp_path / "a.csv")


def test_a_column_names_the_parts(molecules: Molecules) -> None:
    # The invalid row is gone; the one without a part is in none.
    assert lists(split_molecules(molecules, "column:fold")) == [[0, 4], [2], [1]]


def test_splits_that_cannot_be_made_get_one_line(molecules: Molecules) -> None:
    with pytest.raises(DataError, match=r"column 'other' contains '1'; it must be train, valid or test$"):
        split_molecules(molecules, "column:other")
    with pytest.raises(DataError, match=r"there is no column 'flod'; did you mean fold\?$"):
        split_molecules(molecules, "column:flod")
    with pytest.raises(SettingError, match=r"unknown split 'scafold'; known: scaffold, random, column:NAME$"):
        split_molecules(molecules, "scafold")
    with pytest.raises(SettingError, match="unknown split 'column:'"):
        split_molecules(molecules, "column:")
    with pytest.raises(DataError, match="split scaffold: of 5 molecules there are none to train on"):
        split_molecules(molecules)  # all without rings, so they are one scaffold
    with pytest.raises(DataError, match="split random: of 2 molecules there are none to validate on"):
        random_split(2)
