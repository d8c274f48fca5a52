"""Cells of molecules: one scaffold split, several tasks, and fingerprints on the same split."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("rdkit", reason="RDKit is not installed (extra chem)")

from nmrgcl.data.loading import load
from nmrgcl.data.molecules.fingerprints import ecfp
from nmrgcl.data.molecules.splits import split_rows
from nmrgcl.errors import DataError, SettingError
from nmrgcl.evaluate.fingerprints import fingerprint_score
from nmrgcl.run.cell import Cell
from nmrgcl.run.execute import execute
from nmrgcl.run.results import Results
from nmrgcl.run.sweep_pairs import compare_methods
from nmrgcl.settings import resolve
from tests.predict.planted import LENGTH, OXYGEN, SMILES, write
from tests.run.cells import result_of
from tests.test_cli import run

CPU = torch.device("cpu")
TINY = ["encoder.units=8", "encoder.layers=2", "finetune.epochs=3"]


def cell(path: Path, protocol: Any, split: str = "scaffold", seed: int = 0) -> Cell:
    return Cell(str(path), resolve("supervised_molecules", assignments=[*TINY, f"seed={seed}"]), protocol, split=split)


@pytest.fixture
def molecules(tmp_path: Path) -> Path:
    """Two tasks; some labels of the second are missing."""
    ring: list[object] = [None if number % 7 == 0 else int("1" in smiles) for number, smiles in enumerate(SMILES)]
    return write(tmp_path / "two.csv", oxygen=[*map(int, OXYGEN)], ring=ring)


def test_encoder_and_head_are_trained_on_the_scaffold_split(molecules: Path, tmp_path: Path) -> None:
    made = execute(cell(molecules, "finetune"), Results(tmp_path / "r"), device=CPU)
    assert len(made.scores["folds"]) == len(made.scores["pr_auc"]) == 1
    assert 0 <= made.mean <= 100
    again = execute(cell(molecules, "finetune"), Results(tmp_path / "again"), device=CPU)
    assert again.scores == made.scores
    other = execute(cell(molecules, "finetune", seed=1), Results(tmp_path / "r"), device=CPU)
    assert other.scores != made.scores


@pytest.mark.parametrize("model", ["forest", "linear"])
def test_fingerprints_are_judged_on_the_same_parts(molecules: Path, tmp_path: Path, model: Any) -> None:
    made = execute(cell(molecules, f"ecfp_{model}", "random"), Results(tmp_path / "r"), device=CPU)
    rows = load(str(molecules)).molecules
    assert rows is not None
    parts = split_rows(rows, "random", seed=0)
    found = fingerprint_score(ecfp(SMILES), rows.targets, parts, model=model)
    assert made.scores["folds"] == [found.test]
    assert made.scores["chosen"] == found.chosen
    assert made.measure == "ROC-AUC in %"


@pytest.mark.parametrize("protocol", ["finetune", "ecfp_forest"])
def test_errors_above_100_of_numeric_labels_are_read_back(tmp_path: Path, protocol: str) -> None:
    data = write(tmp_path / "large.csv", length=[1e4 * length for length in LENGTH])
    made = execute(cell(data, protocol), Results(tmp_path / "r"), device=CPU)
    assert made.mean > 100
    assert made.measure == "RMSE"
    assert Results(tmp_path / "r").get(made.key) == made


@pytest.mark.parametrize("protocol", ["finetune", "ecfp_linear"])
@pytest.mark.parametrize("split", ["scaffold", "random"])
def test_a_sweep_compares_methods_by_the_parts_of_the_split(molecules: Path, protocol: str, split: str) -> None:
    """Gains of 4, 5 and 6 have the variance 1, so the squared error is 1/3 plus the ratio of test to training size."""
    # Without the last seven molecules, the test part is not an eighth of the training part.
    molecules.write_text("".join(molecules.read_text().splitlines(keepends=True)[:-7]))
    first = [cell(molecules, protocol, split, seed) for seed in range(3)]
    second = [replace(one, settings=one.settings.updated({"method": "graphcl"})) for one in first]
    found = {one.key: result_of(one, 70.0) for one in first}
    found |= {one.key: result_of(one, 74.0 + one.seed) for one in second}
    ((pair,),) = (compared.pairs for compared in compare_methods([*first, *second], found))
    rows = load(str(molecules)).molecules
    assert rows is not None
    parts = split_rows(rows, split, seed=0)
    assert len(parts.test) / len(parts.train) != 1 / 8
    error = math.sqrt(1 / 3 + len(parts.test) / len(parts.train))
    # The 97.5 % point of t with 2 degrees of freedom is in every table.
    assert (pair.seeds, pair.difference.mean) == (3, pytest.approx(5))
    assert pair.difference.high == pytest.approx(5 + 4.302653 * error, abs=1e-5)


def test_a_sweep_of_numeric_labels_says_that_its_scores_are_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write(tmp_path / "lengths.csv", length=list(map(float, LENGTH)))
    chosen = ["--protocol", "ecfp_linear", "--split", "scaffold", "--seeds", "3", "--jobs", "1", "--device", "cpu"]
    methods = ["--method", "untrained", "--method", "graphcl"]
    out, _ = run(capsys, "sweep", str(data), *methods, *chosen, "--results", str(tmp_path / "r"))
    assert out.startswith("RMSE, mean ± sample standard deviation (seeds); ecfp_linear")
    assert "paired difference to untrained in RMSE; ecfp_linear" in out


def test_scaffolds_that_are_known_need_no_rdkit(molecules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = load(str(molecules)).molecules
    assert rows is not None
    assert rows.scaffolds is not None
    assert len(np.unique(rows.scaffolds)) == 10  # Nine ring systems, and none.
    slow = split_rows(rows, "scaffold", seed=0)
    monkeypatch.setattr("nmrgcl.data.molecules.splits.scaffolds", None)
    fast = split_rows(rows, "scaffold", seed=0)
    assert all(np.array_equal(*pair) for pair in zip(vars(slow).values(), vars(fast).values(), strict=True))


def test_cells_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="split = 'scaffold': protocol svm uses stratified folds"):
        cell(tmp_path, "svm")
    with pytest.raises(SettingError, match="protocol = 'ecfp_forest' is for molecules; use split scaffold or random"):
        cell(tmp_path, "ecfp_forest", "stratified")
    with pytest.raises(DataError, match="MUTAG: split scaffold is for molecules with labels"):
        execute(
            Cell("MUTAG", resolve("supervised_graph_gin"), "finetune", split="scaffold"), Results(tmp_path), device=CPU
        )
