"""``nmrgcl sweep`` and ``nmrgcl results`` as a user types them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from nmrgcl.run.results import Results
from nmrgcl.run.sweep_table import as_text, tabulate
from tests.run.cells import QUICK, quick, result_of
from tests.test_cli import run

SETTINGS = [word for key, value in QUICK.items() for word in ("--set", f"{key}={value}")]
SWEEP = ["sweep", "motifs", *SETTINGS, "--backend", "inline", "--device", "cpu"]


def filled(folder: Path) -> str:
    results = Results(folder)
    for seed in range(3):
        results.put(result_of(quick(seed=seed), 50.0, 60.0 + seed))
    return str(folder)


def test_a_sweep_computes_its_table_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = [*SWEEP, "--method", "nmrgcl", "--method", "untrained", "--seeds", "2", "--results", str(tmp_path / "r")]
    out, _ = run(capsys, *command, "--dry-run", "--json")
    planned = json.loads(out)["cells"]
    assert [cell["finished"] for cell in planned] == [False] * 4
    assert not (tmp_path / "r").exists()
    out, err = run(capsys, *command, "--json")
    found = json.loads(out)
    assert found["done"] == [cell["key"] for cell in planned]
    assert [(e["method"], e["dataset"], e["n"]) for e in found["table"]] == [
        ("nmrgcl", "motifs", 2),
        ("untrained", "motifs", 2),
    ]
    assert "4 of 4, untrained on motifs, seed 1: " in err
    assert "left" in err
    assert re.search(r"^4 cells in \d+ s$", err, re.MULTILINE)
    out, err = run(capsys, *command)
    assert f"{found['table'][0]['mean']:.2f} ± {found['table'][0]['std']:.2f} (2)" in out
    assert "honest selection" in out
    assert err == ""
    out, _ = run(capsys, *command, "--dry-run")
    assert "4 cells, 4 finished, 0 missing, in " in out


def test_several_judges_make_several_tables(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = [*SWEEP, "--protocol", "svm", "--protocol", "lssvm", "--protocol", "finetune", "--selection", "both"]
    command += ["--set", "finetune.epochs=1", "--seeds", "1", "--results", str(tmp_path / "r")]
    judges = ["svm, stratified, honest", "svm, stratified, paper", "lssvm, stratified, honest"]
    judges = [f"{judge} selection" for judge in [*judges, "lssvm, stratified, paper", "finetune, stratified, honest"]]
    out, _ = run(capsys, *command, "--json")
    assert [entry["judge"] for entry in json.loads(out)["table"]] == judges
    out, _ = run(capsys, *command)
    assert [line.rpartition("; ")[2] for line in out.splitlines() if line.startswith("accuracy")] == judges
    assert sum(line.startswith("nmrgcl ") for line in out.splitlines()) == 5
    out, _ = run(capsys, "results", "list", "--results", str(tmp_path / "r"))
    assert sum("lssvm" in line for line in out.splitlines()) == 2


def test_a_failed_cell_does_not_hide_the_rest(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "EMPTY").mkdir()
    command = [*SWEEP, str(tmp_path / "EMPTY"), "--seeds", "1", "--results", str(tmp_path / "r")]
    out, err = run(capsys, *command, code=1)
    assert "nmrgcl" in out
    assert "failed: " in err
    assert "missing: 1 failed" in err
    out, _ = run(capsys, "results", "list", "--results", str(tmp_path / "r"), "--json")
    rows = json.loads(out)["results"]
    assert sorted(row["status"] for row in rows) == ["done", "failed"]
    out, _ = run(capsys, "results", "list", "--results", str(tmp_path / "r"))
    assert "1 finished, 1 failed, 0 damaged" in out


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["sweep", "MUTAGG"], "MUTAG"),
        (["sweep", "MUTAG", "--method", "nmrgl"], "nmrgcl"),
        (["sweep", "MUTAG", "--selection", "best"], "honest"),
        (["sweep", "MUTAG", "--protocol", "linear"], "svm"),
        (["sweep", "MUTAG", "--backend", "threads"], "processes"),
        (["sweep", "MUTAG", "--device", "tpu"], "cuda"),
        (["sweep", "MUTAG", "--set", 'views.first=[{name="DropNode"}]'], "DropNodes"),
        (["sweep", "MUTAG", "--method", "untrained", "--set", "epochs=3"], "train.epochs"),
        (["sweep", "MUTAG", "--backend", "slurm", "--slurm", "gpu"], "key=value"),
        (["sweep", "MUTAG", "--slurm", "partition=gpu"], "--slurm: is for --backend slurm"),
        (["results", "show", "abc"], "no key begins with this"),
        (["results", "pack", "x"], "contains no results"),
        (["results", "unpack", "nowhere"], "no such"),
        (["results", "merge", "nowhere"], "no such"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    arguments: list[str], word: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out, err = run(capsys, *arguments, "--results", str(tmp_path / "r"), code=2)
    assert out == ""
    assert err.startswith("nmrgcl: ")
    assert err.count("\n") == 1
    assert word in err
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("method", ["nmrgcl", "wl"])
def test_a_gpu_that_is_absent_is_reported_for_every_kind_of_method(
    method: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    wanted = ["sweep", "MUTAG", "--method", method, "--device", "cuda", "--results", str(tmp_path / "r")]
    out, err = run(capsys, *wanted, code=2)
    assert out == ""
    assert err == "nmrgcl: no CUDA device is available; set device to cpu or auto\n"


def test_results_go_out_and_come_home(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    there, here, pack = filled(tmp_path / "there"), str(tmp_path / "here"), str(tmp_path / "p.nmrgcl-results")
    out, _ = run(capsys, "results", "pack", pack, "--results", there, "--json")
    assert json.loads(out) == {"out": pack, "results": 3}
    out, _ = run(capsys, "results", "unpack", pack, "--results", here, "--json")
    assert len(json.loads(out)["added"]) == 3
    out, _ = run(capsys, "results", "merge", there, pack, "--results", here)
    assert "0 added, 6 already there" in out
    out, _ = run(capsys, "results", "show", quick().key[:8], "--results", here, "--json")
    assert json.loads(out) == result_of(quick(), 50.0, 60.0).to_dict()
    out, _ = run(capsys, "results", "show", quick().key[:8], "--results", here)
    assert json.loads(out)["scores"]["mean"] == 55.0


def test_a_conflict_is_listed_and_changes_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    there, other = filled(tmp_path / "there"), Results(tmp_path / "other")
    other.put(result_of(quick(seed=1), 1.0, 2.0))
    out, err = run(capsys, "results", "merge", str(tmp_path / "other"), "--results", there, "--json", code=2)
    assert json.loads(out)["conflicts"] == [quick(seed=1).key]
    assert quick(seed=1).key in err
    kept = Results(there).get(quick(seed=1).key)
    assert kept == result_of(quick(seed=1), 50.0, 61.0)


def test_a_damaged_result_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = filled(tmp_path / "r")
    path = Results(folder).path(quick().key)
    path.write_text(path.read_text()[:-40])
    out, err = run(capsys, "results", "list", "--results", folder)
    assert "2 finished, 0 failed, 1 damaged" in out
    assert f"nmrgcl: {path}: damaged" in err
    _, err = run(capsys, "results", "pack", str(tmp_path / "p"), "--results", folder, code=2)
    assert str(path) in err
    assert not (tmp_path / "p").exists()


COMMANDS = ["sweep", *(f"results {name}" for name in ("list", "show", "pack", "unpack", "merge"))]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, *command.split(), "--help")
    assert f"nmrgcl {command}" in out
    assert "--json" in out


def test_help_does_not_load_torch() -> None:
    code = "import sys, nmrgcl.cli.sweep, nmrgcl.cli.results; assert not {'torch', 'joblib', 'rich'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_table_has_means_over_seeds() -> None:
    made = [result_of(quick(seed=seed), score) for seed, score in enumerate([60.0, 70.0, 80.0])]
    made.append(result_of(quick("MUTAG"), 90.0))
    made.append(result_of(quick(method="graphcl"), 10.0))
    entries = tabulate(made)
    assert [(e.method, e.dataset, e.mean, e.std, e.n) for e in entries] == [
        ("nmrgcl", "motifs", 70.0, 10.0, 3),
        ("nmrgcl", "MUTAG", 90.0, None, 1),
        ("graphcl", "motifs", 10.0, None, 1),
    ]
    assert as_text(entries).splitlines() == [
        "         motifs             MUTAG",
        "nmrgcl   70.00 ± 10.00 (3)  90.00 (1)",
        "graphcl  10.00 (1)          –",
    ]
