"""``nmrgcl pretrain --track``, and the Lightning example with the real Lightning."""

import json
import runpy
from pathlib import Path

import pytest

from tests.test_cli import run

pytestmark = pytest.mark.filterwarnings("ignore")


def test_pretrain_tells_tensorboard(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="tensorboard is not installed (extra tensorboard)")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    short = ("--set", "epochs=2", "--set", "encoder.units=4", "--device", "cpu", "--quiet", "--json")
    out, _ = run(
        capsys, "pretrain", "MUTAG", "--seeds", "2", "--out", str(tmp_path / "mutag"), "--track", "tensorboard", *short
    )
    found = EventAccumulator(str(tmp_path / "mutag.tensorboard")).Reload()
    for model in json.loads(out)["models"]:
        losses = found.Scalars(f"seed-{model['seed']}/loss")
        assert [one.step for one in losses] == [1, 2]
        assert losses[-1].value == pytest.approx(model["loss"])
    _, told = run(capsys, "pretrain", "MUTAG", "--track", "tensorbord", code=2)
    assert told == "nmrgcl: tracker 'tensorbord': did you mean tensorboard?\n"


def test_the_lightning_example_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lightning", reason="lightning is not installed; make test-trackers")
    monkeypatch.chdir(tmp_path)
    example = Path(__file__).parents[2] / "examples" / "lightning_training.py"
    names = runpy.run_path(str(example), run_name="__main__")
    first, last = names["losses"][0], names["losses"][-1]
    assert last < first
