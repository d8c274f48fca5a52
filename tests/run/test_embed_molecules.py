"""Embedding files of molecules keeps order, identifiers and SMILES, and reports invalid rows."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rdkit", reason="RDKit is not installed (extra chem)")
pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra chem)")

from pyarrow import parquet

from nmrgcl import MoleculeEmbedder
from nmrgcl.run import embeddings
from nmrgcl.run.embeddings import read_embeddings
from tests.test_cli import run
from tests.tiny_molecules import SMILES, save_model, save_other_model

ROWS = [("a", "CCO"), ("b", "C1CC"), ("c", "c1ccccc1"), ("d", ""), ("e", "[Na+].[Cl-]"), ("f", "CCO")]
VALID = [("a", "CCO"), ("c", "c1ccccc1"), ("e", "[Na+].[Cl-]"), ("f", "CCO")]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("models") / "model")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "molecules.csv"
    path.write_text("name,smiles\n" + "".join(f"{name},{text}\n" for name, text in ROWS))
    return path


def expected(model: Path, texts: list[str]) -> np.ndarray:
    return MoleculeEmbedder(model=model, device="cpu", normalise="none").transform(texts)


def test_rows_are_those_of_the_estimator_with_identifiers_and_smiles(
    model: Path, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "z.parquet"
    text, err = run(capsys, "embed", str(model), str(file), "--out", str(out))
    assert text == f"4 molecules, 8 dimensions, in {out}\n"
    assert f"{file}: skipped 2 of 6 rows, which are not molecules:\n" in err
    assert "line 3, 'C1CC': " in err
    assert "line 5, '': it is empty" in err
    table = parquet.read_table(out)
    assert table.column_names == ["id", "smiles", *(f"z{i}" for i in range(8))]
    assert list(zip(table["id"].to_pylist(), table["smiles"].to_pylist(), strict=True)) == VALID
    z = np.stack([table[f"z{i}"].to_numpy() for i in range(8)], 1)
    np.testing.assert_allclose(z, expected(model, [smiles for _, smiles in VALID]), rtol=1e-4, atol=1e-5)


def test_every_kind_of_file_holds_the_same(
    model: Path, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("z.parquet", "z.csv", "z.npz"):
        found = json.loads(run(capsys, "embed", str(model), str(file), "--out", str(tmp_path / name), "--json")[0])
        counts = {"molecules": 4, "dimensions": 8, "skipped": 2}
        assert found == {"out": str(tmp_path / name), "normalise": "none", "labelled": False, **counts}
    table = parquet.read_table(tmp_path / "z.parquet").to_pylist()
    rows = list(csv.DictReader((tmp_path / "z.csv").read_text().splitlines()))
    assert [(row["id"], row["smiles"]) for row in rows] == VALID
    assert [np.float32(row["z3"]) for row in rows] == [np.float32(row["z3"]) for row in table]
    back = read_embeddings(tmp_path / "z.npz", molecules=True)
    assert back.smiles is not None
    assert list(zip(back.id.tolist(), back.smiles.tolist(), strict=True)) == VALID
    assert back.z[:, 3].tolist() == [row["z3"] for row in table]


def test_parts_are_as_the_whole(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five molecules at a time; a file has one row group per part."""
    monkeypatch.setattr(embeddings, "AT_A_TIME", 5)
    given = [*SMILES[:5], *["bad"] * 7, *SMILES[5:]]
    path, out = tmp_path / "m.smi", tmp_path / "z.parquet"
    path.write_text("".join(f"{text}\n" for text in given))
    _, err = run(capsys, "embed", str(model), str(path), "--out", str(out))
    assert "skipped 7 of 31 rows" in err
    assert err.count("\n") == 1 + 5 + 1  # five lines, and how many more there are
    table = parquet.read_table(out)
    assert table["id"].to_pylist() == [str(line) for line in (*range(1, 6), *range(13, 32))]
    assert table["smiles"].to_pylist() == SMILES
    assert parquet.ParquetFile(out).num_row_groups == 5
    z = np.stack([table[f"z{i}"].to_numpy() for i in range(8)], 1)
    np.testing.assert_allclose(z, expected(model, SMILES), rtol=1e-4, atol=1e-5)


def test_progress_tells_speed_and_time_left(
    model: Path, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from nmrgcl.cli import counted as told

    monkeypatch.setattr(told, "EVERY", 0.0)
    _, err = run(capsys, "embed", str(model), str(file), "--out", str(tmp_path / "z.npz"))
    assert re.search(r"^4 of 4 molecules, [\d,]+ per second, 0 s left$", err, re.MULTILINE)


def test_labels_of_two_classes_go_along(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.csv"
    path.write_text("smiles,active\nCCO,1\nCCN,0\nCCC,\n")
    for name in ("z.npz", "z.csv"):
        run(capsys, "embed", str(model), str(path), "--out", str(tmp_path / name))
    found = read_embeddings(tmp_path / "z.npz")
    np.testing.assert_array_equal(found.y, [1, 0, np.nan])
    assert (tmp_path / "z.csv").read_text().startswith("id,smiles,y,z0,")


def test_a_column_of_smiles_can_be_named(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "m.csv", tmp_path / "z.npz"
    path.write_text("structure,dose\nCCO,1\nCCN,2\n")
    _, err = run(capsys, "embed", str(model), str(path), "--out", str(out), code=2)
    assert err.startswith(f"nmrgcl: {path}, line 1: there is no column source, target (edges) or smiles (molecules)")
    assert "'structure' looks like SMILES" in err
    run(capsys, "embed", str(model), str(path), "--out", str(out), "--smiles", "structure")
    assert read_embeddings(out).id.tolist() == ["2", "3"]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (
            "smiles\nCCO\nC1CC\n",
            ["--invalid", "error"],
            "line 3, 'C1CC': .*; correct it, or skip such rows \\(invalid=skip, --invalid skip\\)",
        ),
        ("smiles\nCCO\n", ["--invalid", "drop"], "invalid is 'drop'; it must be skip or error"),
        ("smiles\nbad\nworse\n", [], "none of its 2 rows is a valid molecule; line 2, 'bad': it is not a SMILES"),
        ("smiles\n", [], "has a header, but no molecules"),
        ("dose,weight\n1,2\n", [], "there is no column source, target .* or smiles .*, only dose, weight"),
        ("smiles\nCCO\n", ["--smiles", "smile"], "there is no column 'smile'; did you mean smiles?"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, options: list[str], message: str
) -> None:
    path, out = tmp_path / "m.csv", tmp_path / "z.parquet"
    path.write_text(content)
    _, err = run(capsys, "embed", str(model), str(path), "--out", str(out), *options, code=2)
    assert err.count("\n") == 1
    assert re.search(message, err)
    assert [p.name for p in tmp_path.iterdir()] == ["m.csv"]


def test_a_model_of_other_graphs_and_other_graphs_for_a_model_of_molecules(
    model: Path, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = save_other_model(tmp_path / "other")
    told = f"nmrgcl: {other}: was trained on motifs, not on molecules; use a model of molecules\n"
    lines = tmp_path / "m.smi"
    lines.write_text("CCO\n")
    for given in (file, lines):
        assert run(capsys, "embed", str(other), str(given), "--out", str(tmp_path / "z.npz"), code=2)[1] == told
    out, _ = run(capsys, "embed", str(other), "motifs", "--out", str(tmp_path / "z.npz"))
    assert out.startswith("300 graphs, ")
    _, err = run(capsys, "embed", str(model), "motifs", "--out", str(tmp_path / "y.npz"), code=2)
    assert err.startswith("nmrgcl: motifs: these features need molecules")
    assert err.count("\n") == 1
