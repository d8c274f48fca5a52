"""Cells that differ only in their evaluation share a training, without affecting results."""

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nmrgcl.run.cell import Cell
from nmrgcl.run.engine import Summary, in_turn, run_cells, soonest
from nmrgcl.run.execute import execute, score_cell
from nmrgcl.run.interrupt import Interrupted
from nmrgcl.run.results import Results
from nmrgcl.train.checkpoint import Checkpoint, write_checkpoint
from tests.run.cells import CPU, quick
from tests.run.test_execute import epochs_trained

SVM = quick(epochs=5)
LEAST_SQUARES = replace(SVM, protocol="lssvm")
PAPER = replace(SVM, selection="paper")
RAW = quick(epochs=5, standardise=False)
FINETUNED = replace(quick(epochs=5, finetune={"epochs": 2}), protocol="finetune")


def alone(run: Cell, folder: Path) -> Any:
    return execute(run, Results(folder / run.key), device=CPU)


def test_cells_that_differ_in_the_judge_alone_have_one_training() -> None:
    assert len({cell.training for cell in (SVM, LEAST_SQUARES, PAPER, RAW, FINETUNED)}) == 1
    others = (quick(epochs=4), quick(epochs=5, seed=1), quick("MUTAG", epochs=5), quick(epochs=5, delta=0.5))
    assert len({cell.training for cell in (SVM, *others)}) == 5
    assert SVM.training != SVM.key


def test_one_of_them_trains_and_the_others_follow() -> None:
    other = quick(seed=1)
    assert in_turn([SVM, LEAST_SQUARES, other, RAW]) == ([SVM, other], [LEAST_SQUARES, RAW])
    # Selection "paper" evaluates during training.
    both = replace(PAPER, protocol="lssvm")
    assert in_turn([SVM, PAPER, LEAST_SQUARES, both]) == ([PAPER, both], [SVM, LEAST_SQUARES])


def test_followers_come_as_soon_as_their_training_is_there(tmp_path: Path) -> None:
    results, other = Results(tmp_path), quick(seed=1)
    late = replace(other, protocol="lssvm")
    order = soonest([SVM, other], [LEAST_SQUARES, late, RAW], results)
    assert next(order) == SVM
    write_checkpoint(results.trained(SVM.training) / "data", 5, Checkpoint({}, {}))
    assert [next(order) for _ in range(3)] == [LEAST_SQUARES, RAW, other]
    assert list(order) == []  # The training of the other cell never appeared.


def test_cells_of_a_training_are_judged_before_the_next_one_is_trained(tmp_path: Path) -> None:
    cells = [replace(quick(seed=seed), protocol=judge) for judge in ("svm", "lssvm") for seed in (0, 1)]
    seen = []
    run_cells(cells, tmp_path, backend="inline", device="cpu", on_done=lambda cell, _: seen.append(cell))
    assert seen == [cells[0], cells[2], cells[1], cells[3]]


@pytest.mark.parametrize("first", [SVM, PAPER])
def test_a_shared_training_gives_the_results_of_cells_computed_alone(
    first: Cell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = [first, LEAST_SQUARES, RAW, FINETUNED]
    expected = [alone(cell, tmp_path) for cell in cells]
    trained = epochs_trained(monkeypatch)
    found = run_cells(cells, tmp_path / "together", backend="inline", device="cpu")
    assert found == Summary(done=tuple(cell.key for cell in cells))
    assert trained == [1, 2, 3, 4, 5]
    results = Results(tmp_path / "together")
    for cell, by_itself in zip(cells, expected, strict=True):
        result = results.get(cell.key)
        assert result is not None
        assert (result.scores, result.chosen, result.training) == (
            by_itself.scores,
            by_itself.chosen,
            by_itself.training,
        )
        assert (result.data, result.times.get("trained_by")) == (by_itself.data, None if cell == first else first.key)
    assert not list((tmp_path / "together/.trained").iterdir())


def test_a_training_that_was_kept_serves_judges_that_come_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = epochs_trained(monkeypatch)
    run_cells([LEAST_SQUARES], tmp_path, backend="inline", device="cpu", keep_trained=True)
    assert run_cells([SVM], tmp_path, backend="inline", device="cpu").done == (SVM.key,)
    assert trained == [1, 2, 3, 4, 5]
    kept = Results(tmp_path).get(SVM.key)
    assert kept is not None
    assert kept.times["trained_by"] == LEAST_SQUARES.key
    assert kept.scores == alone(SVM, tmp_path).scores
    assert not list((tmp_path / ".trained").iterdir())


def test_an_untrained_encoder_is_shared_like_any_other(tmp_path: Path) -> None:
    cells = [replace(quick(method="untrained", epochs=0), protocol=name) for name in ("svm", "lssvm")]
    assert run_cells(cells, tmp_path, backend="inline", device="cpu").complete
    for cell in cells:
        kept = Results(tmp_path).get(cell.key)
        assert kept is not None
        assert kept.scores == alone(cell, tmp_path).scores
        assert kept.training["loss"] is None


def test_a_cell_that_cannot_be_judged_leaves_its_training_to_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(run: Cell, *arguments: Any) -> Any:
        if run == SVM:
            raise RuntimeError("no judge")
        return score_cell(run, *arguments)

    trained = epochs_trained(monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr("nmrgcl.run.execute.score_cell", broken)
        found = run_cells([SVM, LEAST_SQUARES], tmp_path, backend="inline", device="cpu")
    assert found == Summary(done=(LEAST_SQUARES.key,), failed=(SVM.key,))
    # The failed cell is retried and does not need to train again.
    assert run_cells([SVM, LEAST_SQUARES], tmp_path, backend="inline", device="cpu").done == (SVM.key,)
    assert trained == [1, 2, 3, 4, 5]
    assert not list((tmp_path / ".trained").iterdir())


def test_an_interrupted_follower_continues_without_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(run: Cell, *arguments: Any) -> Any:
        if run == LEAST_SQUARES:
            os.kill(os.getpid(), signal.SIGTERM)
        return score_cell(run, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr("nmrgcl.run.execute.score_cell", ended)
        with pytest.raises(Interrupted):
            run_cells([SVM, LEAST_SQUARES], tmp_path, backend="inline", device="cpu")
    trained = epochs_trained(monkeypatch)
    found = run_cells([SVM, LEAST_SQUARES], tmp_path, backend="inline", device="cpu")
    assert found == Summary(done=(LEAST_SQUARES.key,), skipped=(SVM.key,))
    assert trained == []
    assert not list((tmp_path / ".trained").iterdir())


def test_damaged_weights_are_named_and_trained_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results = Results(tmp_path / "results")
    results.trained(SVM.training).mkdir(parents=True)
    execute(SVM, results, device=CPU)
    [kept] = results.trained(SVM.training).glob("*/*.ckpt")
    kept.write_bytes(kept.read_bytes()[:-1])
    trained = epochs_trained(monkeypatch)
    found = execute(LEAST_SQUARES, results, device=CPU)
    assert trained == [1, 2, 3, 4, 5]
    assert f"{kept}: its SHA-256 does not match" in capsys.readouterr().err
    assert found.scores == alone(LEAST_SQUARES, tmp_path).scores
