"""Every figure in docs/tuning.md is one that a command printed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmrgcl.reproduce import find_item
from nmrgcl.reproduce.item_file import read_item_file

ROOT = Path(__file__).parents[2]
LINES = (ROOT / "docs" / "tuning.md").read_text(encoding="utf-8").splitlines()


def pm(scores: dict[str, float]) -> str:
    return f"{scores['mean']:.2f} ± {scores['std']:.2f}"


def searches() -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted((ROOT / "results" / "tuned").glob("*.json"))]


def test_searches_are_those_of_the_result_files() -> None:
    for found in searches():
        start = f"| {found['dataset']} | {len(found['candidates'])} × {found['seeds']} |"
        row = next(line for line in LINES if line.startswith(start))
        assert row.endswith(f" {' | '.join(pm(found[part]) for part in ('preset', 'nested', 'winner', 'seen'))} |")


def test_the_tuned_row_is_what_the_search_chose() -> None:
    item = find_item("table1")
    scores = item.scores(*read_item_file(ROOT / "results" / "table1.json", item))
    seen, nested = (
        dict(zip(scores.datasets, scores.of("nmrGCL, tuned", line), strict=True)) for line in ("seen", "honest")
    )
    same = [found for found in searches() if (found["protocol"], found["seeds"]) == ("svm", scores.seeds)]
    assert len(same) >= 5
    for found in same:
        assert seen[found["dataset"]] == pytest.approx(found["winner"]["scores"], abs=1e-3)
    assert {found["protocol"] for found in searches()} == {scores.protocol}
    for found in searches():
        own = nested[found["dataset"]]
        assert own[np.isfinite(own)] == pytest.approx(found["nested"]["scores"], abs=1e-3)


def test_what_looking_adds_is_that_of_the_benchmark_file() -> None:
    found = json.loads((ROOT / "benchmarks" / "results" / "selection.json").read_text())
    names = ("PTC_MR", "IMDB-MULTI", "PROTEINS", "DD", "IMDB-BINARY")
    for rule in found["PTC_MR"]["rules"]:
        assert f"| {rule} | {' | '.join(pm(found[name]['rules'][rule]) for name in names)} |" in LINES
    movies, text = found["IMDB-MULTI"], " ".join(LINES)
    for figure in (
        f"{movies['graphs']:,} graphs only {movies['different']} differ",
        f"on the {movies['repeated']:,} that have a double",
        f"{movies['at_most_on_repeated']:.1f} %",
        f"on all {movies['at_most']:.1f} %",
    ):
        assert figure in text
