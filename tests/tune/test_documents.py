"""Every figure in docs/tuning.md is one that a command printed."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINES = (ROOT / "docs" / "tuning.md").read_text(encoding="utf-8").splitlines()


def pm(scores: dict[str, float]) -> str:
    return f"{scores['mean']:.2f} ± {scores['std']:.2f}"


def test_searches_are_those_of_the_result_files() -> None:
    for path in (ROOT / "results" / "tuned").glob("*.json"):
        found = json.loads(path.read_text())
        cells = [found["dataset"], f"{len(found['candidates'])} × {found['seeds']}"]
        assert f"| {' | '.join(cells + [pm(found[part]) for part in ('preset', 'nested', 'seen')])} |" in LINES


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
