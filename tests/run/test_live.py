"""A training tells of every epoch while it runs, and leaves nothing behind."""

import json
import os
from pathlib import Path

import torch

from nmrgcl.data.loading import load
from nmrgcl.run.checkpoints import Cadence
from nmrgcl.run.live import NAME, Live, told_live
from nmrgcl.run.pretrain import pretrain_seeds
from nmrgcl.settings import Settings, resolve

CPU = torch.device("cpu")


def small(*assignments: str) -> Settings:
    return resolve("graphcl", assignments=["epochs=3", "encoder.layers=1", "encoder.units=4", *assignments])


def lines(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / NAME).read_text().splitlines()]


def test_every_epoch_is_there_while_it_trains_and_gone_at_the_end(tmp_path: Path) -> None:
    out = tmp_path / "run"
    seen = []
    for step in pretrain_seeds(load("motifs"), small(), seeds=[0, 1], out=out, device=CPU, track_every=3):
        seen.append(lines(out))
        own = [line for line in seen[-1] if line["seed"] == step.seed]
        assert [line["epoch"] for line in own if "loss" in line] == list(range(1, step.epoch.number + 1))
        assert [line["loss"] for line in own if "loss" in line][-1] == step.epoch.loss
    spectra = [line["spectrum"] for line in seen[-1] if "spectrum" in line]
    assert [(line["seed"], line["epoch"]) for line in seen[-1] if "spectrum" in line] == [
        (0, 1),
        (0, 3),
        (1, 1),
        (1, 3),
    ]
    assert all(isinstance(one, list) and len(one) == 4 and one == sorted(one, reverse=True) for one in spectra)
    assert not (out / NAME).exists()


def test_a_resumed_seed_tells_its_earlier_epochs_again(tmp_path: Path) -> None:
    given = {"seeds": [0], "out": tmp_path / "run", "device": CPU, "cadence": Cadence(epochs=1)}
    steps = pretrain_seeds(load("motifs"), small(), **given)  # type: ignore[arg-type]
    next(steps)
    next(steps)
    steps.close()  # type: ignore[attr-defined]
    assert not (tmp_path / "run" / NAME).exists()
    again = pretrain_seeds(load("motifs"), small(), **given, resume="yes")  # type: ignore[arg-type]
    number = next(again).epoch.number
    assert number > 1
    assert [line["epoch"] for line in lines(tmp_path / "run") if "loss" in line] == list(range(1, number + 1))
    again.close()  # type: ignore[attr-defined]


def test_a_link_is_not_followed_and_a_full_disk_ends_nothing(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / NAME).symlink_to(tmp_path / "mine")
    with told_live(tmp_path) as live:
        live.tell(0, ['{"epoch": 1, "loss": 1.0}'])
    assert (tmp_path / "mine").read_text() == "mine"
    descriptor = os.open("/dev/full", os.O_WRONLY)
    full = Live(descriptor)
    full.tell(0, ['{"epoch": 1, "loss": 1.0}'])
    assert full.descriptor is None
    full.tell(0, ['{"epoch": 1, "loss": 1.0}', '{"epoch": 2, "loss": 1.0}'])
    os.close(descriptor)
