"""What ``nmrgcl finetune`` says about the labels it chooses, and what all commands say about skipped rows."""

from pathlib import Path

import pytest

from nmrgcl.cli.finetune import _read
from nmrgcl.cli.molecules import require_one_kind, tell_skipped
from nmrgcl.data.molecule_rows import Invalid
from nmrgcl.data.molecules import Molecules
from nmrgcl.errors import DataError

pytest.importorskip("rdkit", reason="RDKit reads SMILES")
Capture = pytest.CaptureFixture[str]


def read(folder: Path, text: str, labels: str | None = None) -> tuple[Molecules, list[str]]:
    path = folder / "a.csv"
    path.write_text(text)
    return _read(str(path), labels, None, "skip")


def test_several_columns_that_nobody_named_are_told(tmp_path: Path, capsys: Capture) -> None:
    text = "smiles,id,num,p_np,same\nC,7,4,0,1\nCC,3,4,1,1\nCCC,5,9,1,1\n"
    molecules, constant = read(tmp_path, text)
    assert (molecules.tasks, constant) == (("num", "p_np"), ["same"])
    assert capsys.readouterr().err == "labels: num, p_np (every numeric column; choose with --labels)\n"
    read(tmp_path, text, "num,p_np")
    read(tmp_path, text.replace("num", "name2").replace(",4,", ",a,"))
    assert capsys.readouterr().err == ""


def test_a_column_with_a_bad_cell_is_left_out_and_told(tmp_path: Path, capsys: Capture) -> None:
    molecules, _ = read(tmp_path, "smiles,y,ic50\nC,0,1.5\nCC,1,>1000\nCCC,1,2\n")
    assert molecules.tasks == ("y",)
    assert capsys.readouterr().err == "'ic50' is not used: line 3 holds '>1000'\n"


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ("1 1 1", "a.csv: all labels are the same: y; there is nothing to learn"),
        ("active inactive active", "a.csv: column 'y' holds active and inactive: write 1 for one of them"),
        ("1 >1000 2", "a.csv, line 3: column 'y' contains '>1000'; labels must be numbers"),
    ],
)
def test_a_file_without_usable_labels_is_refused_with_the_reason(tmp_path: Path, cells: str, message: str) -> None:
    rows = "".join(f"{smiles},{cell}\n" for smiles, cell in zip(("C", "CC", "CCC"), cells.split(), strict=True))
    with pytest.raises(DataError) as raised:
        read(tmp_path, f"smiles,y\n{rows}")
    assert message in str(raised.value)


def test_labels_of_two_kinds_are_refused_unless_they_were_named(tmp_path: Path, capsys: Capture) -> None:
    molecules, _ = read(tmp_path, "smiles,active,logp\nC,0,1.5\nCC,1,2\nCCC,1,2.5\n")
    capsys.readouterr()
    told = f"{tmp_path / 'a.csv'}: only 0 and 1 in active, but other numbers in logp"
    with pytest.raises(DataError) as raised:
        require_one_kind(molecules, named=False)
    assert str(raised.value) == f"{told}; name the columns to learn with --labels, or pass --task numbers"
    require_one_kind(molecules, named=True)
    assert capsys.readouterr().err == f"{told}; all are learned as numbers\n"


def test_rows_that_are_skipped_but_not_listed_are_counted(capsys: Capture) -> None:
    bad = [Invalid(line, "x", "it is not a SMILES") for line in range(2, 22)]
    tell_skipped("a.csv", 40, 100, bad)
    lines = capsys.readouterr().err.splitlines()
    assert (len(lines), lines[-1]) == (7, "  … and 35 more")
    tell_skipped("a.csv", 5, 100, bad[:5])
    assert "more" not in capsys.readouterr().err
