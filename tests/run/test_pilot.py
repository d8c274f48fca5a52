"""Estimates of the cost of a cell."""

from collections.abc import Mapping
from types import MappingProxyType

import pytest
import torch

from nmrgcl.run import pilot
from nmrgcl.run.cell import Cell
from nmrgcl.run.pilot import CellSeconds, can_estimate, estimate_cell
from nmrgcl.run.recipe import recipe

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def one_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that is timed takes one second."""

    def timed(work: object, device: torch.device) -> float:
        work()  # type: ignore[operator]
        return 1.0

    monkeypatch.setattr(pilot, "_timed", timed)


def cell(
    settings: Mapping[str, object] = MappingProxyType({}), selection: str = "honest", protocol: str = "svm"
) -> Cell:
    small = {"encoder.units": 4, "svm.c": "default", "train.epochs": 10, **settings}
    return Cell("motifs", recipe("nmrgcl", assignments=small), protocol, selection)  # type: ignore[arg-type]


def test_some_steps_and_one_judgement_stand_for_the_whole_cell() -> None:
    # 300 graphs in batches of 128: three steps per epoch, of which three are timed.
    assert estimate_cell(cell(), CPU) == CellSeconds(train=10.0, judge=1.0)
    assert estimate_cell(cell({"train.steps": 100}), CPU).train == pytest.approx(100 / 3)
    assert estimate_cell(cell({"train.epochs": 0}), CPU) == CellSeconds(train=0.0, judge=1.0)


def test_selection_by_evaluated_folds_judges_several_epochs() -> None:
    assert estimate_cell(cell(selection="paper"), CPU).judge == 2.0  # epochs 5 and 10
    assert estimate_cell(cell({"train.epochs": 12}, selection="paper"), CPU).judge == 3.0  # and the last


def test_judging_grows_with_the_square_of_the_number_of_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pilot, "ROWS", (60, 100))
    assert estimate_cell(cell(), CPU).judge == pytest.approx(9.0)


def test_a_few_graphs_that_take_long_stand_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pilot, "LONG", 0.5)
    assert estimate_cell(cell(), CPU).judge == pytest.approx(300 / 60)


def test_a_few_graphs_that_cannot_fill_the_folds_are_not_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pilot, "LONG", 0.5)
    monkeypatch.setattr(pilot, "ROWS", (12, 300))
    assert estimate_cell(cell(), CPU).judge == pytest.approx(1.0)


def test_fine_tuning_counts_epochs_runs_and_candidates() -> None:
    options = {"finetune.epochs": 6, "finetune.runs": 2, "finetune.grid": "small", "train.epochs": 0, "svm.folds": 3}
    found = estimate_cell(cell(options, protocol="finetune"), CPU)
    assert found.judge == 3.0 * (4 + 1)  # two of six epochs; four candidates and one more run


def test_cells_of_molecules_are_not_estimated() -> None:
    assert can_estimate(cell())
    scaffold = Cell("BBBP", recipe("untrained", level="molecule"), "finetune", split="scaffold")
    assert not can_estimate(scaffold)
