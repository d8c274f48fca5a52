"""Every number of every epoch is logged, and a tracker cannot end a training. ``make test-trackers`` runs them all."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nmrgcl import trackers
from nmrgcl.errors import DataWarning, SettingError
from nmrgcl.run.pretrain import SeedEpoch
from nmrgcl.settings import Settings
from nmrgcl.trackers import numbers_of, tracked
from nmrgcl.train import Epoch

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
RANKS = [(1, 4.125), (2, 5.125), (3, 6.125)]
EPOCHS = [SeedEpoch(0, Epoch(n, 1 / n, 0.5, 40.0), {"effective_rank": rank, "collapse": "none"}) for n, rank in RANKS]


def test_the_numbers_of_an_epoch() -> None:
    assert numbers_of(Epoch(2, 0.5, 0.25, 8.0)) == {"loss": 0.5, "seconds": 0.25, "items_per_second": 8.0}
    assert numbers_of(EPOCHS[1]) == {
        "seed-0/loss": 0.5,
        "seed-0/seconds": 0.5,
        "seed-0/items_per_second": 40.0,
        "seed-0/effective_rank": 5.125,
    }


def test_tensorboard_reads_what_it_was_told(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="tensorboard is not installed (extra tensorboard)")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    assert list(tracked(iter(EPOCHS), "tensorboard", tmp_path / "log", settings=Settings())) == EPOCHS
    found = EventAccumulator(str(tmp_path / "log")).Reload()
    assert [(one.step, one.value) for one in found.Scalars("seed-0/effective_rank")] == RANKS
    assert found.Tags()["tensors"] == ["settings/text_summary"]


def test_wandb_keeps_what_it_was_told_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb", reason="wandb is not installed; make test-trackers")
    monkeypatch.delenv("WANDB_MODE", raising=False)
    monkeypatch.setenv("WANDB_SILENT", "true")
    assert list(tracked(iter(EPOCHS), "wandb", tmp_path / "log", settings=Settings())) == EPOCHS
    (run,) = (tmp_path / "log" / "wandb").glob("offline-run-*")
    (kept,) = run.glob("*.wandb")
    content = kept.read_bytes()
    for text in (b"seed-0/effective_rank", b"encoder.units", b"4.125", b"5.125", b"6.125"):
        assert text in content


def test_mlflow_reads_what_it_was_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed; make test-trackers")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert list(tracked(iter(EPOCHS), "mlflow", tmp_path / "log", settings=Settings())) == EPOCHS
    client = mlflow.MlflowClient(tracking_uri=f"sqlite:///{tmp_path / 'log' / 'mlflow.db'}")
    (run,) = client.search_runs([client.get_experiment_by_name("nmrgcl").experiment_id])
    history = client.get_metric_history(run.info.run_id, "seed-0/effective_rank")
    assert [(one.step, one.value) for one in history] == RANKS
    assert run.data.params["encoder.units"] == str(Settings().encoder.units)
    assert run.info.status == "FINISHED"


def test_a_training_that_is_left_early_ends_its_tracker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told: list[Any] = []
    monkeypatch.setattr(trackers, "require_tracker", lambda _: None)
    monkeypatch.setitem(trackers._OPEN, "wandb", lambda *_: (lambda *one: told.append(one), lambda: told.append("end")))
    steps = tracked(iter(EPOCHS), "wandb", tmp_path)
    assert isinstance(steps, Iterator)
    next(steps)
    steps.close()  # type: ignore[attr-defined]
    assert told == [(numbers_of(EPOCHS[0]), 1), "end"]


@pytest.mark.parametrize("broken", ["open", "log", "end"])
def test_a_tracker_that_fails_is_named_once_and_ends_nothing(
    broken: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*_: Any) -> Any:
        raise OSError("no space left\non the server")

    made = (fail if broken == "log" else lambda *_: None, fail if broken == "end" else bool)
    monkeypatch.setattr(trackers, "require_tracker", lambda _: None)
    monkeypatch.setitem(trackers._OPEN, "wandb", fail if broken == "open" else lambda *_: made)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert list(tracked(iter(EPOCHS), "wandb", tmp_path)) == EPOCHS
    assert [str(one.message) for one in said if one.category is DataWarning] == [
        "wandb is no longer told about this training (no space left); the training goes on"
    ]


def test_an_error_of_the_training_stays_what_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def diverging() -> Iterator[Epoch]:
        yield Epoch(1, 1.0, 1.0, 1.0)
        raise SettingError("the loss is not finite")

    monkeypatch.setattr(trackers, "require_tracker", lambda _: None)
    monkeypatch.setitem(trackers._OPEN, "wandb", lambda *_: (lambda *_: None, bool))
    with pytest.raises(SettingError, match="not finite"):
        list(tracked(diverging(), "wandb", tmp_path))


def test_unknown_and_missing_trackers_are_named_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="did you mean tensorboard"):
        tracked(iter(EPOCHS), "tensorbord", tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "mlflow", None)
    with pytest.raises(SettingError, match=r"mlflow is not installed; pip install 'nmrgcl\[mlflow\]'"):
        tracked(iter(EPOCHS), "mlflow", tmp_path)
