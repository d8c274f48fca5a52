"""Comparing benchmarks with their committed results."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import history
from bench import committed
from bench.committed import costs, moves


def rows(*given: tuple[str, float, float], device: str = "cpu") -> dict[str, Any]:
    named = [{"name": name, "value": value, "unit": "s", "spread": spread} for name, value, spread in given]
    return {"rows": named, "machine": {"device": device}}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two committed versions of one file, and a third that is not committed."""
    monkeypatch.setattr(committed, "ROOT", tmp_path)
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "someone")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "someone@example.org")
    file = tmp_path / "benchmarks/results/one.json"
    file.parent.mkdir(parents=True)
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "--quiet"], check=True)
    for value in (3.0, 2.0):
        file.write_text(json.dumps(rows(("step", value, 0.1))))
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "--quiet", "--message", f"value {value}"], check=True)
    file.write_text("")  # as a shell leaves it that redirects a benchmark to this file
    return tmp_path


def test_only_costs_beyond_both_spreads_have_moved() -> None:
    then = rows(("slower", 1.0, 0.1), ("noisy", 1.0, 0.1), ("faster", 1.0, 0.1), ("once", 1.0, 0.0), ("gone", 1.0, 0.1))
    now = rows(("slower", 1.5, 0.2), ("noisy", 1.5, 0.6), ("faster", 0.5, 0.1), ("once", 9.0, 0.0), ("new", 1.0, 0.1))
    shared, moved = moves(now, then)
    assert shared == 4
    assert moved == ["slower: 1 → 1.5 (+50%; spread 0.2)", "faster: 1 → 0.5 (-50%; spread 0.1)"]


def test_costs_of_another_device_are_not_compared() -> None:
    assert moves(rows(("a", 1.0, 0.1), device="NVIDIA H200"), rows(("a", 2.0, 0.1))) == (0, [])


def test_rows_with_several_costs_are_named_by_their_dataset() -> None:
    row = {"dataset": "NCI1", "seconds": {"floor": 2.0, "views": 3.0}, "spread": {"floor": 0.1, "views": 0.2}}
    assert costs({"rows": [row]}) == {"NCI1: floor": (2.0, 0.1), "NCI1: views": (3.0, 0.2)}


def test_failed_rows_and_facts_without_spread_are_left_out() -> None:
    failed = {"name": "a", "value": 1.0, "spread": 0.1, "failed": "stopped"}
    assert costs({"rows": [failed, {"dataset": "NCI1", "seconds": 2.0}], "seeds": 3}) == {}


def test_a_benchmark_is_compared_with_the_committed_file(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    committed.note_moves(rows(("step", 4.0, 0.1)))
    assert capsys.readouterr().err.splitlines() == [
        "note: 1 of 1 moved beyond their spread since benchmarks/results/one.json",
        "  step: 2 → 4 (+100%; spread 0.1)",
    ]
    committed.note_moves(rows(("another", 4.0, 0.1)))
    assert capsys.readouterr().err == ""


def test_the_page_shows_every_committed_version(repository: Path) -> None:
    assert [(file, found["step"]) for file, _, _, found in committed.history()] == [
        ("one", (3.0, 0.1)),
        ("one", (2.0, 0.1)),
    ]
    assert "2 now, 3 in the first of 2 versions" in history.page()
