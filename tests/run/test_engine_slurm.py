"""Cells as jobs, with submitit's local executor in place of Slurm."""

from pathlib import Path

import pytest

from nmrgcl.errors import SettingError
from nmrgcl.run.engine import Summary, run_cells
from nmrgcl.run.execute import execute
from nmrgcl.run.results import Results
from tests.run.cells import CPU, quick

pytest.importorskip("submitit", reason="submitit is not installed: pip install 'nmrgcl[slurm]'")
NOWHERE = quick("./nowhere/X")


def test_jobs_give_the_results_of_this_process(tmp_path: Path) -> None:
    found = run_cells([quick(), NOWHERE], tmp_path, backend="slurm", cluster="local", jobs=2, device="cpu")
    assert found == Summary(done=(quick().key,), failed=(NOWHERE.key,))
    here, there = execute(quick(), Results(tmp_path / "here"), device=CPU), Results(tmp_path).get(quick().key)
    assert there is not None
    assert (there.scores, there.training) == (here.scores, here.training)


def test_impossible_parameters_and_a_missing_slurm_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="backend slurm: .*nonsense") as caught:
        run_cells([quick()], tmp_path, backend="slurm", cluster="local", slurm={"nonsense": 1})
    assert str(caught.value).isprintable()
    with pytest.raises(SettingError, match="backend slurm"):
        run_cells([quick()], tmp_path, backend="slurm", cluster="nonsense")
