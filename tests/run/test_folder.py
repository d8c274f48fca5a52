"""The folder of a run: other files are left alone, and a run whose folder disappears fails."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from nmrgcl.data.motifs import motifs
from nmrgcl.errors import ModelError, SettingError
from nmrgcl.methods.nmrgcl import NMRGCL
from nmrgcl.run.checkpoints import Cadence
from nmrgcl.run.pretrain import pretrain_seeds
from nmrgcl.settings import Settings

DATA = motifs(graphs=20)
SETTINGS = Settings().updated({"epochs": 2, "batch_size": 8, "layers": 1, "encoder.units": 4})
RUN = [".lock", "run.json", "seed-0", "settings.json"]


def train(out: Path, settings: Settings = SETTINGS, **options: Any) -> None:
    given: dict[str, Any] = {"seeds": [0], "device": torch.device("cpu"), **options}
    for _ in pretrain_seeds(DATA, settings, out=out, **given):
        pass


def plant(folder: Path, *names: str) -> None:
    """Create files, or folders with a file in them if a name ends with a slash."""
    for name in names:
        path = folder / name / "inside" if name.endswith("/") else folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"mine, {name}")


def kept(folder: Path, *names: str) -> bool:
    paths = [folder / name / "inside" if name.endswith("/") else folder / name for name in names]
    return [path.read_text() for path in paths] == [f"mine, {name}" for name in names]


HIDDEN = (".git/", ".env", ".ssh/", ".gitignore", ".dvc/", ".run.json.orig", ".seed-0.checkpoints.old/", ".seed-0/")
LIKE_OURS = ("seed-notes.txt", "seed-backup/", "seed-list.txt", "seed-0.bak/", "evaluation.json.orig", "config.json")


def test_hidden_files_survive_a_new_run_a_resumed_and_a_replaced_one(tmp_path: Path) -> None:
    plant(tmp_path, *HIDDEN)
    for options in ({}, {"resume": "yes"}, {"overwrite": True}):
        train(tmp_path, **options)
        assert kept(tmp_path, *HIDDEN)
        assert sorted({p.name for p in tmp_path.iterdir()} - {name.rstrip("/") for name in HIDDEN}) == RUN


def test_visible_files_beside_a_run_survive_resuming_and_replacing_it(tmp_path: Path) -> None:
    train(tmp_path)
    plant(tmp_path, *LIKE_OURS)
    train(tmp_path, seeds=[0, 1], resume="yes")
    train(tmp_path, overwrite=True)
    assert kept(tmp_path, *LIKE_OURS)
    assert not (tmp_path / "seed-1").exists()


@pytest.mark.parametrize("name", [*LIKE_OURS, "settings.json", "manifest.json", "seed-0/", ".seed-0.checkpoints/"])
@pytest.mark.parametrize("options", [{}, {"resume": "auto"}, {"resume": "yes"}, {"overwrite": True}], ids=str)
def test_a_folder_without_our_marker_is_not_entered(tmp_path: Path, name: str, options: Any) -> None:
    plant(tmp_path, name)
    with pytest.raises(SettingError, match=rf"is not empty \('{name.rstrip('/')}'\) and holds no run; choose another"):
        train(tmp_path, **options)
    assert kept(tmp_path, name)
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("text", ['{"scripts": {"start": "node ."}}', "", '{"format": "nmrgcl-run"'])
@pytest.mark.parametrize("options", [{}, {"resume": "auto"}, {"overwrite": True}], ids=str)
def test_another_s_run_json_is_refused(tmp_path: Path, text: str, options: Any) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(ModelError, match=r"run.json: not the record of a run; choose another --out"):
        train(tmp_path, **options)
    assert [p.name for p in tmp_path.iterdir()] == ["run.json"]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("seed-3/", "seed-3: is not a model written by nmrgcl; move it away"),
        ("seed-0/notes.txt", "'notes.txt' is not part of the model; move it away"),
        ("evaluation.json", r"evaluation.json: was not written by nmrgcl; move it away"),
        ("splits.json", r"splits.json: was not written by nmrgcl; move it away"),
    ],
)
def test_a_run_is_not_replaced_if_something_foreign_has_a_name_of_its_parts(
    tmp_path: Path, name: str, told: str
) -> None:
    train(tmp_path)
    plant(tmp_path, name)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SettingError, match=told):
        train(tmp_path, overwrite=True)
    assert kept(tmp_path, name)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_under_the_name_of_a_new_seed_is_refused(tmp_path: Path) -> None:
    train(tmp_path)
    (tmp_path / "seed-1").mkdir()
    with pytest.raises(SettingError, match="seed-1: is not a model written by nmrgcl"):
        train(tmp_path, seeds=[0, 1], resume="auto")
    with pytest.raises(SettingError, match="seed-1: is not a model written by nmrgcl"):
        train(tmp_path, overwrite=True)
    assert list((tmp_path / "seed-1").iterdir()) == []


def test_the_marker_is_there_before_anything_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record stays until everything else of its run is removed, even while the run is replaced."""
    seen = []

    def replace(old: Any, new: Any, real: Any = os.replace) -> None:
        seen.append((Path(new).name, (tmp_path / "run.json").exists()))
        real(old, new)

    monkeypatch.setattr(os, "replace", replace)
    train(tmp_path)
    assert seen == [("run.json", False), ("settings.json", True)]
    seen.clear()
    train(tmp_path, SETTINGS.updated({"lr": 0.5}), overwrite=True)
    assert seen == [("run.json", True), ("settings.json", True)]


def test_checkpoints_are_not_followed_through_a_link(tmp_path: Path) -> None:
    out, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    train(out)
    shutil.rmtree(out / "seed-0")
    plant(elsewhere, "step-0000000001.ckpt", "notes.txt")
    (out / ".seed-0.checkpoints").symlink_to(elsewhere)
    for options in ({"resume": "auto"}, {"overwrite": True}):
        with pytest.raises(SettingError, match=r"\.seed-0\.checkpoints: is a link"):
            train(out, cadence=Cadence(steps=1), **options)
    assert kept(elsewhere, "step-0000000001.ckpt", "notes.txt")


def test_foreign_files_among_checkpoints_stay(tmp_path: Path) -> None:
    train(tmp_path)
    shutil.rmtree(tmp_path / "seed-0")
    names = ".seed-0.checkpoints/notes.txt", ".seed-0.checkpoints/.hidden", ".seed-0.checkpoints/step-1.ckpt"
    plant(tmp_path, *names)
    train(tmp_path, resume="auto", cadence=Cadence(steps=1))
    assert kept(tmp_path, *names)
    assert len(list((tmp_path / ".seed-0.checkpoints").iterdir())) == 3


def test_a_link_to_a_folder_is_a_folder_for_a_run(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "disk")
    train(tmp_path / "out")
    train(tmp_path / "out", overwrite=True)
    assert (tmp_path / "out").is_symlink()
    assert sorted(p.name for p in (tmp_path / "disk").iterdir()) == RUN


def test_the_lock_follows_no_link(tmp_path: Path) -> None:
    plant(tmp_path, "precious")
    for target in (tmp_path / "precious", tmp_path / "nowhere"):
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / ".lock").symlink_to(target)
        with pytest.raises(SettingError, match=r"\.lock: is not a regular file; remove it or choose another folder"):
            train(tmp_path / "run")
        shutil.rmtree(tmp_path / "run")
    assert kept(tmp_path, "precious")
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("cadence", [Cadence(), Cadence(steps=1)], ids=["no checkpoints", "checkpoints"])
@pytest.mark.parametrize("gone", ["folder", "marker", "replaced"])
def test_a_run_whose_folder_goes_ends_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cadence: Cadence, gone: str
) -> None:
    out = tmp_path / "run"

    class Destroyed(NMRGCL):
        seen = 0

        def losses(self, graphs: Any, progress: Any) -> Any:
            Destroyed.seen += 1
            if Destroyed.seen == 3:
                shutil.rmtree(out) if gone == "folder" else (out / "run.json").unlink()
                if gone == "replaced":
                    (out / "run.json").write_text(json.dumps({"format": "nmrgcl-run", "checksum": "another"}))
            return super().losses(graphs, progress)

    monkeypatch.setattr("nmrgcl.methods.nmrgcl.METHOD", Destroyed)
    with pytest.raises(SettingError, match="run: was deleted or changed during the run; start the run again"):
        train(out, cadence=cadence)
    assert not (out / "seed-0").exists()


def test_a_model_that_goes_while_another_is_trained_is_missed(tmp_path: Path) -> None:
    steps = pretrain_seeds(DATA, SETTINGS, seeds=[0, 1], out=tmp_path / "run", device=torch.device("cpu"))
    assert [step.seed for step in (next(steps), next(steps), next(steps))] == [0, 0, 1]
    shutil.rmtree(tmp_path / "run" / "seed-0")
    with pytest.raises(SettingError, match="was deleted or changed during the run"):
        list(steps)


def test_the_command_ends_with_2_if_its_folder_goes(tmp_path: Path) -> None:
    command = "pretrain motifs --seeds 400 --set epochs=2 --set layers=1 --set encoder.units=4 --quiet --out run"
    with subprocess.Popen(
        [sys.executable, "-m", "nmrgcl", *command.split()], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as running:
        while running.poll() is None and not (tmp_path / "run" / "seed-0").exists():
            time.sleep(0.02)
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        assert running.stderr is not None
        told = running.stderr.read()
    assert running.returncode == 2
    assert told.startswith("nmrgcl: run")
    assert told.count("\n") == 1
