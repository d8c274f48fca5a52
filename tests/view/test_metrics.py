"""Curves are read as far as they are whole, also while they are written."""

import json
from pathlib import Path

import torch

from nmrgcl.data.loading import load
from nmrgcl.run.live import NAME
from nmrgcl.run.pretrain import pretrain_seeds
from nmrgcl.settings import resolve
from nmrgcl.view import Viewed
from nmrgcl.view.metrics import MOST, curve, read_lines, under_way

CPU = torch.device("cpu")


def test_damaged_lines_are_passed_over(tmp_path: Path) -> None:
    good = '{"epoch": 1, "loss": 2.5}'
    (tmp_path / "m").write_bytes(
        f'{good}\n[]\n{{"epoch": "2"}}\n{{"epoch": 3, "loss": "x"}}\n\xff\n{{"epoch": 4, "lo'.encode("latin-1")
    )
    assert curve(read_lines(tmp_path / "m"), "loss") == [[1.0], [2.5]]
    assert list(read_lines(tmp_path / "none")) == []
    assert curve([{"epoch": 1, "loss": float("nan")}, {"epoch": 2, "loss": True}], "loss") == [[], []]


def test_a_long_curve_keeps_its_ends() -> None:
    lines = [{"epoch": n, "loss": float(n)} for n in range(1, 3456)]
    x, y = curve(lines, "loss")
    assert len(x) <= MOST + 1
    assert (x[0], x[-1]) == (1.0, 3455.0)
    assert x == y


def test_a_training_is_followed(tmp_path: Path) -> None:
    out = tmp_path / "run"
    settings = resolve("graphcl", assignments=["epochs=2", "encoder.layers=1", "encoder.units=4"])
    steps = pretrain_seeds(load("motifs"), settings, seeds=[0, 1], out=out, device=CPU, track_every=1, data="motifs")
    first = next(steps)
    viewed = Viewed(out, data=None, device=CPU)
    status = viewed.status()
    assert status["seeds"] == []
    assert (status["training"]["seed"], status["training"]["epoch"]) == (0, 1)
    assert viewed.curves()["seeds"]["0"]["loss"] == [[1.0], [first.epoch.loss]]
    next(steps)
    second = next(steps)
    assert second.seed == 1
    status = viewed.status()
    assert status["seeds"] == [0]
    assert (status["training"]["seed"], status["training"]["epoch"]) == (1, 1)
    assert len(viewed.curves()["seeds"]["1"]["spectra"][0]) == 4
    assert viewed.map(0)["count"] == len(load("motifs").graphs)
    list(steps)
    assert viewed.status()["training"] is None
    assert viewed.status()["seeds"] == [0, 1]


def test_spectra_that_are_none_are_passed_over(tmp_path: Path) -> None:
    lines = [{"seed": 0, "epoch": 1, "loss": 1.0}, {"seed": 0, "epoch": 1, "spectrum": "x"}, {"seed": "0", "epoch": 2}]
    (tmp_path / NAME).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    told, silent = under_way(tmp_path)
    assert told == {0: {"loss": [[1.0], [1.0]], "rank": [[], []], "epoch": 1, "spectra": []}}
    assert silent is not None
    assert silent >= 0
