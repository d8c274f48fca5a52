"""What planned cells would cost: from finished cells of their kind, or from a part of one that is timed."""

import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from nmrgcl.run import outlook
from nmrgcl.run.cell import Cell
from nmrgcl.run.outlook import Outlook, look_ahead, seedless
from nmrgcl.run.pilot import CellSeconds
from nmrgcl.run.results import Results
from tests.run.cells import CPU, quick, result_of


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> list[Cell]:
    """The cells of which a part was timed: 100 s of training and 10 s of judging each; imports take no time."""
    found: list[Cell] = []

    def estimate(cell: Cell, device: torch.device) -> CellSeconds:
        found.append(cell)
        return CellSeconds(train=100.0, judge=10.0)

    monkeypatch.setattr(outlook, "estimate_cell", estimate)
    monkeypatch.setattr(outlook, "time", SimpleNamespace(process_time=lambda: 0.0, perf_counter=time.perf_counter))
    return found


def ahead(cells: Sequence[Cell], folder: Path, **options: object) -> Outlook:
    return look_ahead([(seedless(cell), cell) for cell in cells], folder, CPU, **options)  # type: ignore[arg-type]


def test_seeds_are_of_one_kind_and_judges_share_a_training(tmp_path: Path, timed: list[Cell]) -> None:
    seeds = [quick(seed=seed) for seed in range(5)]
    assert ahead(seeds, tmp_path, jobs=1).seconds == 5 * 110
    assert [cell.settings.seed for cell in timed] == [0, 2]  # once to import everything, once to count
    judges = [Cell("motifs", quick().settings, protocol=protocol) for protocol in ("svm", "lssvm")]
    assert ahead(judges, tmp_path, jobs=1).seconds == 100 + 2 * 10
    assert ahead(seeds, tmp_path, jobs=5).seconds == 110


def test_finished_cells_say_what_others_of_their_kind_take(tmp_path: Path, timed: list[Cell]) -> None:
    cells = [quick(seed=seed) for seed in range(3)]
    done = result_of(cells[0], 50.0)
    Results(tmp_path).put(done)
    found = ahead(cells, tmp_path, jobs=1)
    assert (found.cells, found.finished, found.seconds) == (3, 1, 2 * float(done.times["total"]))
    assert timed == []
    assert ahead(cells, tmp_path, jobs=1, known=frozenset(cell.key for cell in cells)).sentence == (
        "3 cells, 3 finished, 0 missing"
    )


def test_elsewhere_the_workers_are_taken_to_be_as_fast(tmp_path: Path, timed: list[Cell]) -> None:
    cells = [quick(seed=seed) for seed in range(4)]
    assert ahead(cells, tmp_path, jobs=2, backend="ray").sentence == (
        "4 cells, 0 finished, 4 missing; about 4 min on 2 workers as fast as this machine"
    )
    assert ahead(cells, tmp_path, backend="ray").sentence.endswith("about 7 min on one worker as fast as this machine")
