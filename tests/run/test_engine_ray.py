"""Cells on a real Ray cluster on this machine; ``make test-ray`` installs Ray."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from nmrgcl.run.cell import Cell
from nmrgcl.run.engine import run_cells
from nmrgcl.run.execute import CellOutcome, compute_cell, execute
from nmrgcl.run.results import Results
from tests.run.cells import CPU, quick

ray = pytest.importorskip("ray", reason="Ray is not installed: make test-ray installs it")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own
POISON, NOWHERE = quick(seed=7), quick("./nowhere/X")


@pytest.fixture(autouse=True, scope="module")
def local_ray() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def deadly(run: Cell, folder: Path, device: str, stop: Path) -> CellOutcome:
    """A worker that always dies on one cell."""
    if run == POISON:
        os.kill(os.getpid(), signal.SIGKILL)
    return compute_cell(run, folder, device, stop)


def test_ray_gives_the_results_of_this_process_and_survives_a_dying_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nmrgcl.run.backends.compute_cell", deadly)
    found = run_cells([quick(), NOWHERE, POISON, quick(seed=1)], tmp_path, backend="ray", jobs=2, device="cpu")
    assert sorted(found.done) == sorted([quick().key, quick(seed=1).key])
    assert (found.failed, found.lost) == ((NOWHERE.key,), (POISON.key,))
    here, there = execute(quick(), Results(tmp_path / "here"), device=CPU), Results(tmp_path).get(quick().key)
    assert there is not None
    assert (there.scores, there.training) == (here.scores, here.training)
