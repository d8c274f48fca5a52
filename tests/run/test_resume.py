"""A run that is interrupted and resumed gives the same files, to the byte."""

import json
import os
import random
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from nmrgcl.data.motifs import motifs
from nmrgcl.errors import NonFiniteError, SettingError
from nmrgcl.lock import locked
from nmrgcl.methods.nmrgcl import NMRGCL
from nmrgcl.run.checkpoints import Cadence
from nmrgcl.run.folder import RECORD
from nmrgcl.run.interrupt import Interrupted
from nmrgcl.run.pretrain import pretrain_seeds
from nmrgcl.settings import Settings

DATA = motifs(graphs=20)
SETTINGS = Settings().updated({"epochs": 3, "batch_size": 8, "layers": 1, "encoder.units": 4, "train.patience": 2})
STEPS = 3 * 3


def train(out: Path, settings: Settings = SETTINGS, **options: Any) -> None:
    for _ in pretrain_seeds(DATA, settings, seeds=range(2), out=out, device=torch.device("cpu"), **options):
        pass


def files(folder: Path) -> dict[str, bytes]:
    """All files of a run except its timings."""
    found = (p for p in folder.rglob("*") if p.is_file() and p.name not in ("timings.jsonl", ".lock"))
    return {str(p.relative_to(folder)): p.read_bytes() for p in found}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("runs") / "whole"
    train(out)
    return files(out)


class Hungry(NMRGCL):
    """Uses all random generators, and is interrupted at a given batch."""

    stop_at: int = -1
    signum: int = signal.SIGTERM
    seen: int = 0

    def losses(self, graphs: Any, progress: Any) -> Iterator[Any]:
        Hungry.seen += 1
        if Hungry.seen == Hungry.stop_at:
            os.kill(os.getpid(), Hungry.signum)
        noise = 1 + 0.1 * float(random.random() + np.random.random() + random.gauss() + np.random.normal())  # noqa: NPY002
        for loss in super().losses(graphs, progress):
            yield loss * noise


@pytest.fixture
def hungry(monkeypatch: pytest.MonkeyPatch) -> type[Hungry]:
    monkeypatch.setattr("nmrgcl.methods.nmrgcl.METHOD", Hungry)
    monkeypatch.setattr(Hungry, "seen", 0)
    return Hungry


@pytest.mark.parametrize("stop_at", range(1, 2 * STEPS + 1, 2))
def test_a_run_ended_by_a_signal_continues_as_if_nothing_had_happened(
    tmp_path: Path, hungry: type[Hungry], monkeypatch: pytest.MonkeyPatch, stop_at: int
) -> None:
    monkeypatch.setattr(hungry, "stop_at", -1)
    train(tmp_path / "whole")
    monkeypatch.setattr(hungry, "stop_at", hungry.seen + stop_at)
    with pytest.raises(Interrupted) as caught:
        train(tmp_path / "cut")
    assert caught.value.signum == signal.SIGTERM
    train(tmp_path / "cut", resume="yes")
    assert files(tmp_path / "cut") == files(tmp_path / "whole")


@pytest.mark.parametrize("cadence", [Cadence(epochs=1), Cadence(steps=2), Cadence(minutes=1e-9), Cadence(0, 0, 0)])
def test_keeping_checkpoints_changes_nothing(tmp_path: Path, whole: dict[str, bytes], cadence: Cadence) -> None:
    train(tmp_path / "run", cadence=cadence)
    assert files(tmp_path / "run") == whole


def test_auto_starts_continues_and_leaves_what_is_complete(tmp_path: Path, whole: dict[str, bytes]) -> None:
    for _ in range(2):
        train(tmp_path / "run", resume="auto")
        assert files(tmp_path / "run") == whole
    before = (tmp_path / "run" / "seed-1" / "config.json").stat()
    shutil.rmtree(tmp_path / "run" / "seed-0")
    train(tmp_path / "run", resume="auto")
    assert files(tmp_path / "run") == whole
    assert (tmp_path / "run" / "seed-1" / "config.json").stat().st_mtime_ns == before.st_mtime_ns


def test_only_the_same_run_continues(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(SettingError, match="there is no run to resume"):
        train(out, resume="yes")
    train(out)
    with pytest.raises(SettingError, match="already holds a run; use --resume, --overwrite"):
        train(out)
    with pytest.raises(SettingError, match="its run has other settings; resume with the same"):
        train(out, SETTINGS.updated({"lr": 0.5}), resume="yes")
    with pytest.raises(SettingError, match="its run has another --track-every"):
        train(out, resume="yes", track_every=3)
    other = pretrain_seeds(motifs(graphs=21), SETTINGS, seeds=[0], out=out, device=torch.device("cpu"), resume="yes")
    with pytest.raises(SettingError, match="its run has other data or features"):
        next(other)


def test_a_run_from_before_a_setting_existed_continues(tmp_path: Path) -> None:
    out = tmp_path / "run"
    train(out)
    values = RECORD.read(out / "run.json")
    assert values is not None
    del values["settings"]["data"]["edges"]
    RECORD.write(out / "run.json", values, token="test")
    train(out, resume="yes")
    with pytest.raises(SettingError, match="its run has other settings; resume with the same"):
        train(out, SETTINGS.updated({"data.max_degree": 5}), resume="yes")


def test_overwriting_starts_anew(tmp_path: Path, whole: dict[str, bytes]) -> None:
    out = tmp_path / "run"
    train(out, SETTINGS.updated({"lr": 0.5}))
    (out / "evaluation.json").write_text('{"format": "nmrgcl-evaluation"}')
    train(out, overwrite=True)
    assert files(out) == whole


def test_two_runs_in_one_folder_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with locked(out), pytest.raises(SettingError) as caught:
        train(out)
    assert f"process {os.getpid()} on" in str(caught.value)
    train(out)  # The lock file still exists, but its owner does not.


@pytest.mark.parametrize("where", ["loss", "gradient"])
def test_a_number_that_is_not_finite_stops_before_the_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    class Poisoned(NMRGCL):
        seen = 0
        before: ClassVar[list[tuple[torch.Tensor, torch.Tensor]]] = []

        def losses(self, graphs: Any, progress: Any) -> Iterator[Any]:
            Poisoned.seen += 1
            for loss in super().losses(graphs, progress):
                if Poisoned.seen == 5:
                    Poisoned.before = [(p, p.clone()) for p in self.parameters()]
                    bad = float("nan") if where == "loss" else torch.sqrt(loss.detach() * 0 + (loss - loss.detach()))
                    loss = loss + bad
                yield loss

    monkeypatch.setattr("nmrgcl.methods.nmrgcl.METHOD", Poisoned)
    with pytest.raises(NonFiniteError) as caught:
        train(tmp_path / "run", cadence=Cadence(steps=1))
    dump = tmp_path / "run" / "non-finite-seed-0.json"
    assert str(caught.value) == (
        "the loss or a gradient is not finite in epoch 2, batch 2; lower train.lr (it is 0.001); "
        f"the batch is named in {dump}"
    )
    found = json.loads(dump.read_text())
    assert len(found["graphs"]) == 8
    assert (found["epoch"], found["batch"], found["seed"]) == (2, 2, 0)
    assert found["settings"]["train"]["lr"] == 0.001
    assert Poisoned.before
    assert all(torch.equal(now, then) for now, then in Poisoned.before)


def test_out_of_memory_names_what_to_lower_and_keeps_the_checkpoint(
    tmp_path: Path, whole: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Fat(NMRGCL):
        seen = 0

        def losses(self, graphs: Any, progress: Any) -> Iterator[Any]:
            Fat.seen += 1
            if Fat.seen == 5:
                torch.empty(1 << 60)
            return super().losses(graphs, progress)

    with monkeypatch.context() as patch:
        patch.setattr("nmrgcl.methods.nmrgcl.METHOD", Fat)
        with pytest.raises(SettingError) as caught:
            train(tmp_path / "run", cadence=Cadence(steps=1))
    assert str(caught.value).startswith("out of memory; lower train.batch_size (it is 8) or encoder.units (it is 4)")
    assert [p.name for p in (tmp_path / "run" / ".seed-0.checkpoints").iterdir()]
    train(tmp_path / "run", resume="yes")
    assert files(tmp_path / "run") == whole
