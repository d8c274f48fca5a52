import json
from pathlib import Path
from typing import Any

import pytest
import torch

from nmrgcl.diagnose.measure import measure
from nmrgcl.diagnose.track import track, warn_of_collapse
from tests.test_cli import FAST, run


def seen(*ranks: float, kind: str = "dimensional") -> list[dict[str, Any]]:
    return [{"effective_rank": rank, "collapse": kind} for rank in ranks]


def test_tracked_numbers_are_those_of_the_whole_measurement() -> None:
    z = torch.randn(60, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    facts, found = measure(z).to_dict(), track(z)
    shared = set(facts) & set(found)
    assert {"effective_rank", "used", "stable_rank", "participation_ratio", "dead_dimensions", "uniformity"} <= shared
    assert {key: found[key] for key in shared} == pytest.approx({key: facts[key] for key in shared})
    assert (found["collapse"], found["top_share"]) == (facts["verdict"], facts["variance_share"]["1"])


def test_a_fall_to_less_than_half_of_the_highest_is_warned_of_once() -> None:
    assert warn_of_collapse(seen(10.0)) is None
    assert warn_of_collapse(seen(10.0, 5.1)) is None
    assert "4.9 dimensions, less than half of the 12.0" in str(warn_of_collapse(seen(8.0, 12.0, 4.9)))
    assert warn_of_collapse(seen(8.0, 12.0, 4.9, 4.0)) is None
    assert warn_of_collapse(seen(3.0, 5.0, 9.0)) is None


def test_becoming_one_point_is_warned_of() -> None:
    point = seen(9.0, kind="complete")
    assert "the same point" in str(warn_of_collapse(seen(9.0) + point))
    assert warn_of_collapse(seen(9.0) + point + point) is None


def test_training_warns_and_keeps_the_numbers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shrinking = iter([8.0, 3.0, 2.0])
    monkeypatch.setattr("nmrgcl.run.pretrain.track", lambda *given: track(*given) | {"effective_rank": next(shrinking)})
    options = [*FAST[2:4], "--set", "epochs=3", "--seeds", "1", "--track-every", "1", "--out", str(tmp_path / "r")]
    _, err = run(capsys, "pretrain", "motifs", "--preset", "graphcl", *options)
    assert err.count("collapse begins") == 1
    lines = [json.loads(line) for line in (tmp_path / "r/seed-0/metrics.jsonl").read_text().splitlines()]
    assert ["warning" in line for line in lines] == [False, True, False]
    assert {"collapse", "used", "stable_rank", "dead_dimensions", "mean_correlation"} <= set(lines[0])
