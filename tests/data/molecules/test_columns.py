"""Headers that are damaged or belong to something else, and identifiers exactly as they are written."""

from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from nmrgcl.data.loading import load
from nmrgcl.data.molecules import read_molecules
from nmrgcl.data.molecules.columns import names_column
from nmrgcl.errors import DataError


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache."""
    monkeypatch.setenv("NMRGCL_HOME", str(tmp_path / "home"))


def write(folder: Path, text: str | bytes, name: str = "a.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    "content",
    [
        "smiles,Löslichkeit\nCCO,1\n".encode("latin-1"),
        'smiles,"y\n(µM)"\nCCO,1\n'.encode("latin-1"),
        "smiles,y\nCCO,1\nCC,2\n".encode("utf-16"),
        "\nsmiles,ö\nCCO,1\n".encode("latin-1"),
    ],
)
def test_a_header_in_another_encoding_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = write(tmp_path, content)
    with pytest.raises(DataError) as raised:
        read_molecules(path)
    assert str(raised.value) == f"{path}: is not UTF-8 text; save it as CSV UTF-8"


def test_a_file_of_utf16_is_refused_alike_where_graphs_are_expected(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a.csv: is not UTF-8 text; save it as CSV UTF-8$"):
        load(str(write(tmp_path, "smiles,y\nCCO,1\n".encode("utf-16"))))


WRONG = {
    ("a.csv", "smiles;y\nCCO;0,5\n"): "columns are separated by ';'; save the file with commas",
    ("a.csv", "smiles\ty\nCCO\t1\n"): "columns are separated by tabs; save the file with commas, or rename it to .tsv",
    ("a.tsv", "smiles,y\nCCO,1\n"): "columns are separated by ','; save the file with tabs, or rename it to .csv",
}


@pytest.mark.parametrize(("name", "text"), WRONG)
def test_a_wrong_separator_is_named(tmp_path: Path, name: str, text: str) -> None:
    path = write(tmp_path, text, name)
    for read in (read_molecules, lambda path: load(str(path))):
        with pytest.raises(DataError) as raised:
            read(path)
        assert str(raised.value) == f"{path}, line 1: {WRONG[name, text]}"


def test_a_file_without_a_header_is_told_to_have_one(tmp_path: Path) -> None:
    path = write(tmp_path, "CCO,1\nCCN,0\nc1ccccc1,1\n")
    for read in (read_molecules, lambda path: load(str(path))):
        with pytest.raises(DataError, match="the first line is a molecule; put a header line such as smiles above it$"):
            read(path)


def test_the_column_of_smiles_is_named_as_a_shell_needs_it(tmp_path: Path) -> None:
    path = write(tmp_path, "Smiles String,y\nCCO,1\nCC,0\n")
    with pytest.raises(DataError, match=r"rename it, or use --smiles 'Smiles String' \(in Python: "):
        read_molecules(path)
    with pytest.raises(DataError, match=r"use --smiles 'Smiles String' \(embed, neighbours\), or make a store for pre"):
        load(str(path))


def test_unnamed_columns_that_are_empty_are_dropped(tmp_path: Path) -> None:
    molecules = read_molecules(write(tmp_path, "smiles,y,,\nCCO,0,,\nCC,1,,\n"))
    assert molecules.columns.column_names == ["smiles", "y"]


@pytest.mark.parametrize(("name", "separator"), [("a.csv", ","), ("a.tsv", "\t")])
def test_identifiers_stay_as_they_are_written(tmp_path: Path, name: str, separator: str) -> None:
    written = ["00001", "1.10", "", " ", "2020-01-01"]
    rows = [f"{text}{separator}CCO\n" for text in written]
    path = write(tmp_path, f"Compound ID{separator}smiles\n" + "".join(rows), name)
    expected = ["00001", "1.10", "4", "5", "2020-01-01"]
    assert read_molecules(path).ids == expected
    stored = load(str(path))
    assert stored.molecules is not None
    assert stored.molecules.ids == expected


def test_numeric_identifiers_keep_their_zeros(tmp_path: Path) -> None:
    assert read_molecules(write(tmp_path, "id,smiles\n00,C\n01,CC\n,CCC\n")).ids == ["00", "01", "4"]


def test_identifiers_that_are_not_utf8_are_text_all_the_same(tmp_path: Path) -> None:
    path = write(tmp_path, "smiles,name\nCCO,ö\nCC,a\n".encode("latin-1"))
    assert read_molecules(path).ids == ["\ufffd", "a"]
    stored = load(str(path)).molecules
    assert stored is not None
    assert stored.ids == ["\ufffd", "a"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [([[1], [2]], "[1]"), (pyarrow.array(["a", ""]).dictionary_encode(), "a"), ([1.5, 2], "1.5")],
)
def test_identifiers_of_any_type_are_text(tmp_path: Path, values: object, expected: str) -> None:
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"smiles": ["C", "CC"], "id": values}), path)
    assert read_molecules(path).ids[0] == expected
    stored = load(str(path)).molecules
    assert stored is not None
    assert stored.ids == read_molecules(path).ids


def test_missing_identifiers_of_parquet_files_are_row_numbers(tmp_path: Path) -> None:
    table = pyarrow.table({"smiles": ["C", "CC", "CCC"], "ID": pyarrow.array([7, None, 9])})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    assert read_molecules(tmp_path / "a.parquet").ids == ["7", "2", "9"]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["Molecule ChEMBL ID", "y"], "Molecule ChEMBL ID"),
        (["InChIKey", "CID"], "CID"),
        (["chembl_id", "NAME", "id"], "id"),
        (["Compound_ID", "smiles"], "Compound_ID"),
        (["identifier", "smiles"], None),
    ],
)
def test_names_of_identifiers_and_their_order(names: list[str], expected: str | None) -> None:
    assert names_column(pyarrow.table({name: ["a"] for name in names})) == expected


@pytest.mark.parametrize("name", ["a.smi", "a.smiles", "a.txt.gz"])
def test_other_endings_of_text_files(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, "CCO ethanol\nC methane\n", name)
    assert read_molecules(path).ids == ["ethanol", "methane"]
    assert load(str(path)).molecules is not None


def test_a_spreadsheet_is_to_be_saved_as_csv(tmp_path: Path) -> None:
    path = write(tmp_path, "PK", "a.xlsx")
    for read in (read_molecules, lambda path: load(str(path))):
        with pytest.raises(DataError, match=r"a.xlsx: is a spreadsheet; save it as CSV UTF-8$"):
            read(path)
