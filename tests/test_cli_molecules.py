"""Molecules on the command line: a CSV file of SMILES is DATA wherever graphs are."""

import json
from pathlib import Path

import numpy as np
import pytest

from nmrgcl.cli.counted import counted, describe
from nmrgcl.run.recipe import default_preset
from tests.test_cli import run

CSV = "name,smiles,active\na,CCO,1\nb,C(,0\nc,c1ccccc1,0\nd,CC(=O)O,1\ne,CCN,0\nf,CCCl,\n"


@pytest.fixture
def drugs(tmp_path: Path) -> Path:
    path = tmp_path / "drugs.csv"
    path.write_text(CSV)
    return path


def test_import_counts_rows_that_are_no_molecules_and_lists_them(
    drugs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = run(capsys, "datasets", "import", str(drugs), "--out", str(tmp_path / "store"))
    assert "5 graphs, 19 nodes, 30 directed edges, 2 classes" in out
    assert "rows that are not molecules: 1 of 6" in out
    assert "line 3, 'C(': it is not a SMILES" in out
    out, _ = run(capsys, "datasets", "import", str(drugs), "--labels", "active", "--out", str(tmp_path / "s"), "--json")
    facts = json.loads(out)
    assert (facts["graphs"], facts["tasks"], facts["invalid_rows"]) == (5, 1, 1)
    _, err = run(capsys, "datasets", "import", str(drugs), "--out", str(tmp_path / "s"), "--invalid", "error", code=2)
    assert "line 3, 'C(': it is not a SMILES" in err


def test_info_shows_tasks(drugs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "datasets", "info", str(drugs), "--json")
    facts = json.loads(out)
    assert facts["tasks"] == {"active": 4}
    assert facts["invalid_rows"] == {"rows": 1, "line 3": "'C(': it is not a SMILES"}
    out, _ = run(capsys, "datasets", "list", "--json")
    tasks = {row["name"]: row["tasks"] for row in json.loads(out)["datasets"]}
    assert (tasks["BBBP"], tasks["ToxCast"], tasks["MOSES"], tasks["MUTAG"]) == (1, 617, 0, None)


def test_a_file_of_smiles_is_trained_on_with_the_network_for_molecules_and_another_is_embedded(
    drugs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ["--set", "epochs=1", "--set", "units=8", "--set", "layers=2", "--seeds", "1", "--device", "cpu"]
    run(capsys, "pretrain", str(drugs), "--out", str(tmp_path / "run"), *small)
    settings = json.loads((tmp_path / "run" / "settings.json").read_text())
    assert settings["encoder"]["name"] == "molecule"
    assert settings["encoder"]["pool"] == "mean"
    other = tmp_path / "other.csv"
    other.write_text("smiles\n[Na+].[Cl-]\nC/C=C/C\n[2H]C#N\n")
    out = tmp_path / "z.npz"
    run(capsys, "embed", str(tmp_path / "run" / "seed-0"), str(other), "--out", str(out), "--device", "cpu")
    assert np.load(out)["z"].shape == (3, 8)


@pytest.mark.parametrize("out", ["drugs.csv", "./drugs.csv", "hard.csv"])
def test_output_never_replaces_the_molecules(
    drugs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    monkeypatch.chdir(drugs.parent)
    Path("hard.csv").hardlink_to(drugs)
    Path("more.csv").write_text(CSV)
    for command in (["embed"], ["neighbours", "more.csv"], ["neighbours", "--k", "1", "more.csv"]):
        _, err = run(capsys, *command, "drugs.csv", "--out", out, code=2)
        assert err == f"nmrgcl: --out {Path(out)}: is the input file; choose another name\n"
    _, err = run(capsys, "neighbours", "drugs.csv", "more.csv", "--out", out, code=2)
    assert "is the input file" in err
    assert drugs.read_text() == CSV


def test_a_place_that_cannot_be_written_is_refused_by_its_own_name(
    drugs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "nowhere"
    for command in (["embed"], ["neighbours", str(drugs)]):
        _, err = run(capsys, *command, str(drugs), "--out", str(missing / "x.csv"), code=2)
        assert err == f"nmrgcl: --out {missing / 'x.csv'}: the folder {missing} does not exist\n"
        _, err = run(capsys, *command, str(drugs), "--out", "/proc/x.csv", code=2)
        assert err.startswith("nmrgcl: --out /proc/x.csv: cannot be written (")
    (tmp_path / "link.csv").symlink_to(missing)
    _, err = run(capsys, "embed", str(drugs), "--out", str(tmp_path / "link.csv"), code=2)
    assert "is not a regular file" in err


def test_molecules_are_packed_and_read_again_but_not_written_as_json_lines(
    drugs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packed = tmp_path / "drugs.molecules"
    out, _ = run(capsys, "datasets", "pack", str(drugs), "--out", str(packed), "--json")
    assert json.loads(out) == {"out": str(packed), "molecules": 5, "bytes": packed.stat().st_size}
    measured = [json.loads(run(capsys, "datasets", "info", data, "--json")[0]) for data in (str(drugs), str(packed))]
    assert measured[0] | {"source": str(packed)} == measured[1]
    _, err = run(capsys, "datasets", "export", str(drugs), "--out", str(tmp_path / "a.jsonl"), code=2)
    assert "use nmrgcl datasets pack" in err


def test_only_methods_that_have_a_recipe_for_molecules_use_it() -> None:
    assert default_preset("nmrgcl", "molecule") == "molecules"
    assert default_preset("nmrgcl", "graph") == "strong"
    assert default_preset("infograph", "molecule") == "infograph_molecules"
    assert default_preset("wl", "molecule") == "wl"
    assert default_preset("grace", "molecule") == "grace"


def test_progress_says_how_fast_and_how_much_longer() -> None:
    assert describe("molecules", 4000, 10_000, 2.0) == "4,000 of 10,000 molecules, 2,000 per second, 3 s left"
    assert describe("folds", 101, 601, 10.0, first=1) == "101 of 601 folds, 10 per second, 50 s left"
    assert describe("epochs", 20, 500, 80.0) == "20 of 500 epochs, 0.25 per second, 32 min left"


def test_what_comes_before_the_first_item_says_nothing_about_the_speed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 60.0, 70.0])  # a minute of compiling, then ten folds per second
    monkeypatch.setattr("nmrgcl.cli.counted.time.monotonic", lambda: next(clock))
    with counted("folds") as watch:
        assert watch is not None
        watch(1, 601)
        watch(101, 601)
    assert capsys.readouterr().err == "101 of 601 folds, 10 per second, 50 s left\n"
