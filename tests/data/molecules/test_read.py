import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from rdkit import Chem

from nmrgcl.data.molecules import Invalid, read_molecules
from nmrgcl.data.molecules.smiles import _featurised
from nmrgcl.errors import DataError, SettingError

CSV = """num,name,SMILES,active,logp,note
1,ethanol,CCO,1,-0.31,
2,broken,C(,0,1.5,a
4,"benzene, pure",c1ccccc1,,2.13,b
9,water,O,0,,c
"""
NAN = float("nan")


def write(folder: Path, name: str, text: str | bytes = CSV) -> Path:
    path = folder / name
    content = text if isinstance(text, bytes) else text.encode()
    packers: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".xz": lzma.compress}
    path.write_bytes(packers.get(path.suffix, bytes)(content))
    return path


def parquet(folder: Path) -> Path:
    columns = {
        "name": ["ethanol", "broken", "benzene, pure", "water"],
        "SMILES": ["CCO", "C(", "c1ccccc1", "O"],
        "active": pyarrow.array([True, False, None, False]),
        "logp": pyarrow.array([-0.31, 1.5, 2.13, None], pyarrow.float32()),
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), folder / "drugs.parquet")
    return folder / "drugs.parquet"


def sdf(folder: Path) -> Path:
    path = folder / "drugs.sdf"
    with Chem.SDWriter(str(path)) as writer:
        for name, smiles, active, logp in (
            ("ethanol", "CCO", "1", "-0.31"),
            ("broken", "CCC", "0", "1.5"),
            ("benzene, pure", "c1ccccc1", None, "2.13"),
            ("water", "O", "0", None),
        ):
            molecule = Chem.MolFromSmiles(smiles)
            molecule.SetProp("_Name", name)
            for key, value in (("active", active), ("logp", logp)):
                if value is not None:
                    molecule.SetProp(key, value)
            writer.write(molecule)
    records = path.read_text().split("$$$$\n")
    records[1] = records[1].replace(" C ", " ?? ", 1)
    path.write_text("$$$$\n".join(records))
    return path


@pytest.mark.parametrize(
    "name", ["drugs.csv", "drugs.CSV", "drugs.csv.gz", "drugs.tsv", "drugs.tsv.xz", "parquet", "sdf"]
)
def test_every_format_gives_the_same_molecules(tmp_path: Path, name: str) -> None:
    lined = name not in ("parquet", "sdf")
    if lined:
        text = CSV.replace('"benzene, pure"', "benzene! pure").replace(",", "\t").replace("!", ",")
        path = write(tmp_path, name, text if "tsv" in name else CSV)
    else:
        path = (parquet if name == "parquet" else sdf)(tmp_path)
    molecules = read_molecules(path)
    assert molecules.name == "drugs"
    assert molecules.smiles == ["CCO", "c1ccccc1", "O"]
    assert molecules.graphs.node_ptr.diff().tolist() == [3, 6, 1]
    assert molecules.ids == ["ethanol", "benzene, pure", "water"]
    assert molecules.tasks == ("active", "logp")
    expected = np.array([[1, -0.31], [NAN, 2.13], [0, NAN]], np.float32)
    np.testing.assert_array_equal(molecules.labels, expected)
    assert molecules.lines.tolist() == ([2, 4, 5] if lined else [1, 3, 4])
    broken = ("", "RDKit cannot read this record") if name == "sdf" else ("C(", "it is not a SMILES")
    assert molecules.invalid == (Invalid(3 if lined else 2, *broken),)


def test_smi_files_have_names_blank_lines_and_headers(tmp_path: Path) -> None:
    molecules = read_molecules(write(tmp_path, "zinc.smi.xz", "smiles name\nCCO ethyl alcohol\n\nxx bad\nO\n"))
    assert molecules.smiles == ["CCO", "O"]
    assert molecules.ids == ["ethyl alcohol", "5"]
    assert molecules.lines.tolist() == [2, 5]
    assert molecules.invalid == (Invalid(4, "xx", "it is not a SMILES"),)
    assert molecules.labels.shape == (2, 0)
    plain = read_molecules(write(tmp_path, "zinc.smi", "CCO\r\nO"))
    assert plain.smiles == ["CCO", "O"]
    assert plain.ids == ["1", "2"]


def test_columns_can_be_chosen(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "mol,smiles,a,b\nCC,O,1,2\nCCC,N,3,4\n")
    assert read_molecules(path).smiles == ["O", "N"]
    chosen = read_molecules(path, smiles="mol", labels=["b", "a"])
    assert chosen.smiles == ["CC", "CCC"]
    assert chosen.tasks == ("b", "a")
    assert chosen.labels.tolist() == [[2, 1], [4, 3]]


def test_a_column_that_counts_rows_is_a_label_only_on_request(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "n,smiles,y\n1,C,1\n5,CC,2\n7,CCC,2\n")
    assert read_molecules(path).tasks == ("y",)
    assert read_molecules(path, labels=["n"]).labels.tolist() == [[1], [5], [7]]


def test_cells_that_are_empty_or_not_utf8_are_invalid(tmp_path: Path) -> None:
    molecules = read_molecules(write(tmp_path, "a.csv", b"smiles,y\n,1\nC\xe9,4\nC,3\n"))
    assert [(bad.row, bad.reason) for bad in molecules.invalid] == [(2, "it is empty"), (3, "it is not plain ASCII")]
    assert molecules.labels.tolist() == [[3]]


REFUSED = {
    "mol,y\nCCO,1\nCC,2\n": "no column is named smiles; 'mol' looks like SMILES: rename it, or "
    "use --smiles mol (in Python: smiles='mol')",
    "name,y\nethanol,1\nwater,2\n": "no column is named smiles or looks like SMILES; there are name, y",
    "": "is empty",
    "\n\n": "is empty",
    "smiles,y\n": "has a header, but no molecules",
    "smiles,smiles\nC,C\n": "two columns are named 'smiles'; rename one",
    "smiles,y\nxx,1\nC(,2\n": "none of its 2 rows is a valid molecule; line 2, 'xx': it is not a SMILES",
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_file_that_cannot_be_used_gets_one_line(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, "a.csv", text)
    with pytest.raises(DataError) as raised:
        read_molecules(path)
    assert str(raised.value) == f"{path}: {REFUSED[text]}"


def test_a_row_of_another_width_is_named_by_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "smiles,y\nC,1\nC,1,2\n")
    with pytest.raises(DataError, match="a.csv, line 3: Expected 2 columns, got 3: C,1,2; correct that line$"):
        read_molecules(path)


def test_other_requests_that_cannot_be_met(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "smiles,active\nC,yes\nC(,no\nx,no\n")
    with pytest.raises(DataError, match=r"there is no column 'smile'; did you mean smiles\?$"):
        read_molecules(path, smiles="smile")
    with pytest.raises(DataError, match=r"there is no column 'activ'; did you mean active\?$"):
        read_molecules(path, labels=["activ"])
    with pytest.raises(DataError, match=r"column 'active' holds no and yes: write 1 for one of them and 0"):
        read_molecules(path, labels=["active"])
    with pytest.raises(
        DataError, match=r"line 3, 'C\(': it is not a SMILES \(1 more are invalid\); correct it, or skip"
    ):
        read_molecules(path, invalid="error")
    with pytest.raises(SettingError, match="invalid is 'drop'; it must be skip or error"):
        read_molecules(path, invalid="drop")  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"a.xlsx: is a spreadsheet; save it as CSV UTF-8$"):
        read_molecules(write(tmp_path, "a.xlsx"))
    with pytest.raises(DataError, match=r"a.doc: is not a file of molecules; known: \.csv, \.tsv"):
        read_molecules(write(tmp_path, "a.doc"))
    with pytest.raises(DataError, match=r"none.csv: cannot be read \(No such file or directory\)"):
        read_molecules(tmp_path / "none.csv")
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(CSV.encode())[:40])
    with pytest.raises(DataError, match=r"cut.csv.gz: cannot be unpacked"):
        read_molecules(tmp_path / "cut.csv.gz")
    with pytest.raises(DataError, match=r"a.parquet: cannot be read"):
        read_molecules(write(tmp_path, "a.parquet"))
    with pytest.raises(DataError, match=r"column 'y' contains a number that does not fit a 32-bit float"):
        read_molecules(write(tmp_path, "b.csv", "smiles,y\nC,1e300\n"))


# Molecules that are valid in RDKit 2026.9, and tasks. BBBP, SIDER and ToxCast have as many in PyG. PyG has 1,480 in
# ClinTox (1,484 before RDKit refused four); here one more is left out, as it has an atom that is no element.
VALID = {
    "BBBP.csv": (2039, 1),
    "sider.csv.gz": (1427, 27),
    "clintox.csv.gz": (1479, 2),
    "toxcast_data.csv.gz": (8597, 617),
}


@pytest.mark.parametrize("file", VALID)
def test_moleculenet_has_as_many_valid_molecules_as_elsewhere(mirror: Path, file: str) -> None:
    if not (mirror / "moleculenet").is_dir():
        pytest.skip(f"{mirror} has no folder moleculenet")
    molecules = read_molecules(mirror / "moleculenet" / file)
    assert (len(molecules), len(molecules.tasks)) == VALID[file]
    assert bool(np.isnan(molecules.labels).any()) == file.startswith("toxcast")
    assert set(np.unique(molecules.labels[~np.isnan(molecules.labels)]).tolist()) == {0, 1}
    if file == "BBBP.csv":
        assert molecules.tasks == ("p_np",)
        assert np.bincount(molecules.labels[:, 0].astype(int)).tolist() == [479, 1560]
        assert len(molecules.invalid) == 11


def test_a_record_that_is_not_utf8_is_read_all_the_same(tmp_path: Path) -> None:
    content = sdf(tmp_path).read_bytes()
    first = content.index(b"\n")
    (tmp_path / "latin.sdf").write_bytes(b"caf\xe9" + content[first:])
    found, plain = read_molecules(tmp_path / "latin.sdf"), read_molecules(tmp_path / "drugs.sdf")
    assert found.smiles == plain.smiles


class NAType:
    """Like pandas.NA: what compares it has no truth value."""

    def __ne__(self, other: object) -> bool:
        raise TypeError("boolean value of NA is ambiguous")


@pytest.mark.parametrize("nothing", [None, float("nan"), NAType(), "", " "])
def test_an_empty_cell_of_pandas_is_empty(nothing: Any) -> None:
    _, invalid = _featurised(["CCO", nothing])
    assert [(one.row, one.reason) for one in invalid] == [(1, "it is empty")]
