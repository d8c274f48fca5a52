"""Which columns are labels, and what is said about those that are none."""

from pathlib import Path

import numpy as np
import pyarrow
import pytest

from nmrgcl.data.molecules import read_molecules
from nmrgcl.data.molecules.labels import label_columns, unused_columns
from nmrgcl.errors import DataError

SMILES = ["C", "CC", "CCC", "CCCC"]


def columns(**others: object) -> pyarrow.Table:
    return pyarrow.table({"smiles": SMILES, "y": [0, 1, 1, 0], **others})


def write(folder: Path, column: list[str], name: str = "y") -> Path:
    path = folder / "a.csv"
    rows = [f"{smiles},{cell}" for smiles, cell in zip(SMILES, column, strict=True)]
    path.write_text("\n".join([f"smiles,{name}", *rows]) + "\n")
    return path


@pytest.mark.parametrize(
    "name", ["id", "CID", "Molecule_ChEMBL ID", "__index_level_0__", "Unnamed: 0", "", "unnamed: 12"]
)
def test_identifiers_and_indices_are_no_labels(name: str) -> None:
    assert label_columns(columns(**{name: [5, 3, 3, 9]}), "a.csv", "smiles") == ["y"]


@pytest.mark.parametrize("kind", ["int64", "uint8"])
def test_row_numbers_are_no_labels_even_if_shuffled(kind: str) -> None:
    shuffled, counted, values = ([2, 0, 3, 1], [1, 4, 5, 9], [2, 0, 3, 9])
    added = {name: pyarrow.array(column, kind) for name, column in zip("abc", (shuffled, counted, values), strict=True)}
    assert label_columns(columns(**added), "a.csv", "smiles") == ["y", "c"]
    alternating = pyarrow.array([0, 1, 0, 1], kind)
    assert label_columns(columns(z=alternating), "a.csv", "smiles") == ["y", "z"]


def test_missing_labels_may_be_written_in_several_ways(tmp_path: Path) -> None:
    for missing in ("-", "NA", "nan", "NaN", " ", ""):
        path = write(tmp_path, ["1", missing, " 2.5 ", "-1e3"])
        for labels in (None, ["y"]):
            found = read_molecules(path, labels=labels)
            np.testing.assert_array_equal(found.labels[:, 0], np.array([1, np.nan, 2.5, -1000], np.float32))


@pytest.mark.parametrize("bad", [">1000", "inf", "yes", "1_000", "0x1"])
def test_the_first_cell_that_is_not_a_number_is_named_with_its_line(tmp_path: Path, bad: str) -> None:
    path = write(tmp_path, ["1", "-", bad, "x"])
    with pytest.raises(DataError) as raised:
        read_molecules(path, labels=["y"])
    told = f"column 'y' contains {bad!r}; labels must be numbers such as 0.5"
    assert str(raised.value) == f"{path}, line 4: {told}"


def test_two_words_are_not_numbers(tmp_path: Path) -> None:
    path = write(tmp_path, ["active", "", "inactive", "active"])
    with pytest.raises(DataError, match="column 'y' holds active and inactive: write 1 for one of them and 0 for the"):
        read_molecules(path, labels=["y"])


def test_columns_that_nearly_are_labels_are_told_with_the_reason() -> None:
    table = columns(
        ic50=["1", ">1000", "2", "NA"],
        comma=["0,5", "1", "1,5", "x"],
        active=["yes", "no", None, "no"],
        note=["1", "a", "b", "c"],
        name=["1", "2", "3", "x"],
        good=["1", "2", "-", "4"],
    )
    assert dict(unused_columns(table, "smiles", np.arange(2, 6))) == {
        "ic50": "line 3 holds '>1000'",
        "comma": "line 2 holds '0,5'",
        "active": "it holds no and yes: write 1 for one of them and 0 for the other",
    }
    assert label_columns(table, "a.csv", "smiles") == ["y", "good"]


def test_labels_are_named_as_in_csv_and_each_once(tmp_path: Path) -> None:
    table = pyarrow.table({name: [1.5, 2] for name in ("IC50, nM", "a", "b")})
    for text, expected in (
        ("IC50, nM", ["IC50, nM"]),
        ('"IC50, nM", b', ["IC50, nM", "b"]),
        ("a, b,", ["a", "b"]),
        ("", []),
    ):
        assert label_columns(table, "a.csv", "smiles", text) == expected
    for twice in ("a,b,a", ["a", "a"]):
        with pytest.raises(DataError, match="a.csv: label 'a' is named twice; name it once"):
            label_columns(table, "a.csv", "smiles", twice)
    with pytest.raises(DataError, match=r"there is no column 'IC50'; did you mean IC50, nM\?"):
        label_columns(table, "a.csv", "smiles", "IC50, nm")


def test_an_identifier_is_a_label_on_request(tmp_path: Path) -> None:
    assert read_molecules(write(tmp_path, ["07", "1", "2", "3"], "id"), labels="id").labels[0].tolist() == [7]
