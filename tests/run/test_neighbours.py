"""Nearest molecules of a library against their slow definition, and what is said about bad input."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rdkit", reason="RDKit is not installed (extra chem)")
pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra chem)")

import pyarrow
import pyarrow.parquet
from rdkit import Chem, DataStructs
from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

from nmrgcl import MoleculeEmbedder
from nmrgcl.data.molecules import fingerprints
from nmrgcl.run import compared, embeddings
from tests.test_cli import run
from tests.tiny_molecules import SMILES, save_model, save_other_model

QUERY = ["CCCCO", "c1ccccc1NNO", "C1CC", "CCN"]
LIBRARY = [*SMILES[:6], "bad", *SMILES[6:], "OCCCC", "CCO", "CCCCO"]
"""Two ways to write a query, the same molecule twice, and one that is none; identifiers are lines from 2."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("models") / "model")


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    query, library = tmp_path / "query.csv", tmp_path / "library.csv"
    query.write_text("name,smiles\n" + "".join(f"q{i},{text}\n" for i, text in enumerate(QUERY)))
    library.write_text("smiles\n" + "".join(f"{text}\n" for text in LIBRARY))
    return str(query), str(library)


def similarity(a: str, b: str) -> float:
    """By RDKit's own function."""
    bits = [GetMorganGenerator(radius=2, fpSize=2048).GetFingerprint(Chem.MolFromSmiles(text)) for text in (a, b)]
    return DataStructs.TanimotoSimilarity(*bits)


def expected(scores: dict[tuple[str, int], float], k: int) -> list[tuple[str, str]]:
    """Identifiers of query and neighbour: all pairs sorted by score, the earlier row first."""
    found = []
    for name in dict.fromkeys(name for name, _ in scores):
        rows = sorted((row for query, row in scores if query == name), key=lambda row: (-scores[name, row], row))
        found += [(name, str(row + 2)) for row in rows[:k]]
    return found


VALID_QUERIES = [(f"q{i}", text) for i, text in enumerate(QUERY) if text != "C1CC"]
VALID_ROWS = [(row, text) for row, text in enumerate(LIBRARY) if text != "bad"]


def found_by(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    return json.loads(run(capsys, "neighbours", *arguments, "--device", "cpu", "--json")[0])["neighbours"]


def test_by_fingerprints_they_are_those_of_the_definition(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    scores = {(name, row): similarity(query, text) for name, query in VALID_QUERIES for row, text in VALID_ROWS}
    rows = found_by(capsys, *files, "--k", "6")
    assert [(row["query"], row["neighbour"]) for row in rows] == expected(scores, 6)
    assert [row["rank"] for row in rows] == [1, 2, 3, 4, 5, 6] * 3
    for row in rows:
        assert row["cosine"] is None
        assert row["tanimoto"] == pytest.approx(scores[row["query"], int(row["neighbour"]) - 2], abs=1e-6)
        assert (row["query_smiles"], row["neighbour_smiles"]) == (
            dict(VALID_QUERIES)[row["query"]],
            dict(VALID_ROWS)[int(row["neighbour"]) - 2],
        )
    # The same molecule in two ways is equally near, and the earlier row stands first.
    assert [(row["neighbour"], row["tanimoto"]) for row in rows[:2]] == [("27", 1.0), ("29", 1.0)]


def test_by_a_model_they_are_those_of_the_definition(
    model: Path, files: tuple[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of four rows, so that the best come from several."""
    for module in (embeddings, fingerprints, compared):
        monkeypatch.setattr(module, "AT_A_TIME", 4)
    embed = MoleculeEmbedder(model=model, device="cpu", normalise="none").transform

    def unit(texts: list[str]) -> np.ndarray:
        z = embed(texts).astype(np.float64)
        return z / np.linalg.norm(z, axis=1, keepdims=True)

    cosine = np.round(unit([text for _, text in VALID_QUERIES]) @ unit([text for _, text in VALID_ROWS]).T, 6)
    scores = {
        (name, row): cosine[i, j] for i, (name, _) in enumerate(VALID_QUERIES) for j, (row, _) in enumerate(VALID_ROWS)
    }
    rows = found_by(capsys, *files, "--model", str(model), "--k", "4")
    for row, (_, neighbour) in zip(rows, expected(scores, 4), strict=True):
        place = int(row["neighbour"]) - 2
        assert row["cosine"] == pytest.approx(scores[row["query"], place], abs=3e-6)
        assert row["cosine"] == pytest.approx(scores[row["query"], int(neighbour) - 2], abs=3e-6)
        assert row["tanimoto"] == pytest.approx(similarity(row["query_smiles"], row["neighbour_smiles"]), abs=1e-6)
    assert {row["neighbour"] for row in rows[:2]} == {"27", "29"}


def test_embedded_files_stand_for_molecules(
    model: Path, files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query, library = files
    anew = found_by(capsys, query, library, "--model", str(model))
    stored, asked, packed = (str(tmp_path / name) for name in ("library.parquet", "query.npz", "library.npz"))
    for data, out in ((library, stored), (query, asked), (library, packed)):
        run(capsys, "embed", str(model), data, "--out", out)
    for given in ([query, stored, "--model", str(model)], [asked, stored], [asked, packed]):
        again = found_by(capsys, *given)
        assert [row["query"] for row in again] == [row["query"] for row in anew]
        np.testing.assert_allclose([row["cosine"] for row in again], [row["cosine"] for row in anew], atol=3e-6)
    assert found_by(capsys, query, stored, "--by", "ecfp") == found_by(capsys, query, library)
    other = tmp_path / "other"
    MoleculeEmbedder("untrained", settings={"encoder.units": 8, "encoder.layers": 2}, device="cpu").fit(SMILES).save(
        other
    )
    _, err = run(capsys, "neighbours", query, stored, "--model", str(other), code=2)
    assert err == f"nmrgcl: {stored}: its embeddings are by another model; embed it again\n"
    smaller = tmp_path / "smaller.parquet"
    for column, message in {
        (0.5, 1.0): "has 1 dimensions, the query has 8; embed both with the same model",
        (None, 1.0): "a row lacks its embedding or SMILES; embed the molecules again",
    }.items():
        table = pyarrow.table({"id": ["a", "b"], "smiles": ["CCO", "C"], "z0": column})
        pyarrow.parquet.write_table(table, smaller)
        _, err = run(capsys, "neighbours", asked, str(smaller), "--k", "1", code=2)
        assert err == f"nmrgcl: {smaller}: {message}\n"
    np.savez(tmp_path / "plain.npz", z=np.eye(3))
    _, err = run(capsys, "neighbours", asked, str(tmp_path / "plain.npz"), code=2)
    assert "holds no molecules; write it with nmrgcl embed" in err
    np.savez(tmp_path / "plain.npz", z=np.eye(3), smiles=np.array(["C", "CC"]))
    _, err = run(capsys, "neighbours", asked, str(tmp_path / "plain.npz"), code=2)
    assert "smiles and id must hold one text per row of z (3)" in err


def test_a_csv_and_a_table_on_the_terminal(
    model: Path, files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "n.csv"
    text, err = run(capsys, "neighbours", *files, "--model", str(model), "--k", "2", "--out", str(out))
    assert text == f"2 neighbours of 3 molecules among 27, in {out}\n"
    assert "line 4, 'C1CC': " in err
    assert "line 8, 'bad': it is not a SMILES" in err
    rows = list(csv.DictReader(out.read_text().splitlines()))
    names = ["query", "query_smiles", "rank", "neighbour", "neighbour_smiles", "cosine", "tanimoto"]
    assert list(rows[0]) == names
    assert [row["query"] for row in rows] == ["q0", "q0", "q1", "q1", "q3", "q3"]
    run(capsys, "neighbours", *files, "--out", str(out))
    assert "cosine" not in out.read_text()
    text, _ = run(capsys, "neighbours", *files, "--k", "2")
    assert text.splitlines()[:3] == ["q0  CCCCO", "  Tanimoto 1.000  27  OCCCC", "  Tanimoto 1.000  29  CCCCO"]


def test_bad_options_are_one_line(
    model: Path, files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = save_other_model(tmp_path / "other")
    for options, message in {
        ("--k", "28"): "--k 28: the library has 27 molecules; ask for at most 27",
        ("--k", "0"): "--k 0: ask for at least one neighbour",
        ("--by", "colour"): "--by colour: known: cosine, ecfp",
        (
            "--by",
            "cosine",
        ): "--by cosine: needs --model (for example bundled), or two files written by nmrgcl embed",
        ("--out", "n.txt"): "n.txt: the ending must be .csv",
        ("--model", str(other)): f"{other}: was trained on motifs, not on molecules; use a model of molecules",
        (
            "--invalid",
            "error",
        ): f"{files[0]}: line 4, 'C1CC': it is not a SMILES; "
        "correct it, or skip such rows (invalid=skip, --invalid skip)",
    }.items():
        _, err = run(capsys, "neighbours", *files, *options, code=2)
        assert err == f"nmrgcl: {message}\n"


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("smiles\n", "has a header, but no molecules"),
        ("smiles\nbad\n", "none of its 1 rows is a valid molecule; line 2, 'bad': it is not a SMILES"),
        ("structure\nCCO\n", "'structure' looks like SMILES"),
        ("source,target\n1,2\n", "these graphs are not molecules; pass a file of SMILES"),
    ],
)
def test_bad_files_are_one_line(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str], side: int, content: str, message: str
) -> None:
    wrong = Path(files[side])
    wrong.write_text(content)
    _, err = run(capsys, "neighbours", *files, "--k", "1", code=2)
    assert err.startswith(f"nmrgcl: {wrong}")
    assert message in err
    assert err.count("\n") == 1
