"""``nmrgcl export``, from a run to a file."""

import json
from pathlib import Path

import pytest
import torch

from tests.test_cli import run


def test_a_run_is_exported_and_compared_with_its_own_data(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    short = ("--set", "epochs=1", "--set", "encoder.units=4", "--device", "cpu", "--quiet")
    run(capsys, "pretrain", "MUTAG", "--seeds", "1", "--out", "mutag", *short)
    out, _ = run(capsys, "export", "mutag", "--json")
    found = json.loads(out)
    assert found["out"] == "model.pt2"
    assert found["difference"] < 1e-5
    assert [row["graphs"] for row in found["latency"]] == [1, 8, 32, 188]
    about = {"nmrgcl.json": ""}
    torch.export.load("model.pt2", extra_files=about)
    assert json.loads(about["nmrgcl.json"])["features"]["labels"] == [[0, 1, 2, 3, 4, 5, 6]]
    _, told = run(capsys, "export", "mutag", "--format", "tensorflow", code=2)
    assert "--format tensorflow: known: onnx, torch-export" in told
