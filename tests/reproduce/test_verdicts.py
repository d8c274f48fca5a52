"""Planted results of every figure: what is in them is found, and nothing else."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from nmrgcl.reproduce import find_item
from nmrgcl.reproduce.statistics import Comparison
from nmrgcl.reproduce.verdict import by_share, greater, mostly, not_greater, similar, within
from tests.reproduce.planted import planted

THREE = ["COLLAB", "IMDB-BINARY", "NCI1"]


def outcomes(item: str, score: Callable[..., float], noise: float = 0.3, **asked: Any) -> list[str]:
    found = find_item(item)
    return [verdict.outcome for verdict in found.judge(planted(found, score, noise, **asked))]


def found(mean: float, margin: float) -> Comparison:
    """An interval of ``mean`` ± ``margin``."""
    return Comparison(mean, mean - margin, mean + margin, 0.01 if abs(mean) > margin else 0.5, 10, 2)


@pytest.mark.parametrize(
    ("rule", "mean", "margin", "outcome"),
    [
        (greater, 2.0, 0.5, "confirmed"),
        (greater, -2.0, 0.5, "not confirmed"),
        (greater, 0.2, 0.5, "not confirmed"),  # at most 0.7: it would not matter
        (greater, 0.8, 1.5, "inconclusive"),
        (not_greater, 2.0, 0.5, "not confirmed"),
        (not_greater, -0.2, 0.5, "confirmed"),
        (not_greater, 0.2, 1.5, "inconclusive"),
        (similar, 0.3, 0.2, "confirmed"),  # beyond chance, but it does not matter
        (similar, 2.0, 0.5, "not confirmed"),
        (similar, 0.5, 1.0, "inconclusive"),
    ],
)
def test_an_interval_decides(rule: Any, mean: float, margin: float, outcome: str) -> None:
    assert rule("a claim", found(mean, margin), "a minus b").outcome == outcome
    assert rule("a claim", None, "a minus b").outcome == "no data"


def test_a_limit_and_a_share_decide() -> None:
    assert [within("", found(m, 1.0), "", margin=3.0).outcome for m in (1.0, 2.5, 5.0)] == [
        "confirmed",
        "inconclusive",
        "not confirmed",
    ]
    assert [by_share("", share, "").outcome for share in (0.97, 0.5, 0.02)] == [
        "confirmed",
        "inconclusive",
        "not confirmed",
    ]
    assert by_share("", 1.0, "", enough=False).outcome == "inconclusive"
    # Clopper & Pearson: 10 of 10 has the interval 0.69 … 1, 2 of 2 has 0.16 … 1.
    assert [mostly("", k, n, "").outcome for k, n in ((10, 10), (2, 2), (0, 10), (0, 0))] == [
        "confirmed",
        "inconclusive",
        "not confirmed",
        "no data",
    ]


def test_the_sentence_has_the_statistics() -> None:
    verdict = greater("a claim", found(2.0, 0.5), "a minus b")
    assert verdict.sentence == (
        "a minus b: +2.00 points (95 % interval +1.50 … +2.50, p = 0.010; n = 10 pairs over 2 datasets)"
    )


def as_the_paper_says(dataset: str, variant: str) -> float:
    learned = {"DD": 72.5, "IMDB-BINARY": 72.5}.get(dataset, 66.0)
    return {"non_maximum": 70.0, "both": 70.1, "random": 69.0, "learned": learned}.get(variant, 67.5)


def test_figure5_finds_what_is_planted_and_its_opposite() -> None:
    assert outcomes("figure5", as_the_paper_says) == ["confirmed"] * 7
    opposite = outcomes("figure5", lambda *at: 140 - as_the_paper_says(*at))
    assert opposite == ["not confirmed"] * 2 + ["not confirmed", "confirmed", "confirmed"] + ["not confirmed"] * 2
    noise = outcomes("figure5", lambda *at: 70.0, noise=8.0)
    assert set(noise) == {"inconclusive"}
    assert outcomes("figure5", as_the_paper_says, only=["PTC_MR"])[-2:] == ["no data", "no data"]


def peak(dataset: str, delta: Any) -> float:
    """Best at 0.7, on NCI1 at 0.4, with a gentle slope below."""
    if delta == "untrained":
        return 69.0
    best = 0.4 if dataset == "NCI1" else 0.7
    return 72 - 5 * abs(delta - best)


def test_figure6_finds_the_best_threshold() -> None:
    too = "confirmed, also untrained"
    assert outcomes("figure6", peak, noise=0.05) == [*["confirmed"] * 3, too, "confirmed"]
    falling = outcomes("figure6", lambda d, at: 72.0 if at == "untrained" else 80 - 10 * at)
    assert falling == [*["not confirmed"] * 3, too, "confirmed"]
    low = outcomes("figure6", lambda d, at: 50.0 if at in ("untrained", 0.0) else 70.0)
    assert low[3:] == ["not confirmed", "not confirmed"]
    assert outcomes("figure6", peak, noise=0.05, seeds=3)[1:3] == ["inconclusive", "inconclusive"]
    noise = outcomes("figure6", lambda *at: 70.0, noise=8.0)
    assert noise[1] == noise[3] == "inconclusive"


def test_figure7_finds_where_accuracy_falls() -> None:
    assert outcomes("figure7", lambda d, name, p: 75 - 10 * max(p - 0.2, 0)) == ["confirmed"] * 4
    assert outcomes("figure7", lambda d, name, p: 65 + 10 * p) == ["not confirmed"] * 4
    one_falls = outcomes("figure7", lambda d, name, p: 75 - 10 * p * (name == "EdgeDrop"), noise=0.2)
    assert one_falls[1:] == ["not confirmed", "confirmed", "not confirmed"]


def pairs(dataset: str, first: str, second: str) -> float:
    if dataset == "COLLAB" and (first, second) == ("FeatureDropout", "Subgraph"):
        return 64.0
    return 72.0 if first == second else 70.0 - len(first) / 10


def test_figure8_finds_pairs_that_differ() -> None:
    assert outcomes("figure8", pairs, only=THREE) == ["confirmed"] * 3
    assert outcomes("figure8", lambda *at: 70.0, noise=0.05, only=THREE) == ["not confirmed"] * 3
    assert outcomes("figure8", pairs, only=["PTC_MR"])[1:] == ["no data", "no data"]
    assert outcomes("figure8", lambda *at: 70.0, noise=3.0, only=THREE)[0] == "inconclusive"


def test_figure8_is_not_judged_by_a_part_of_the_pairs() -> None:
    item = find_item("figure8")
    scores = planted(item, pairs, only=THREE)
    few = replace(
        scores, rows=tuple(row for row in scores.rows if row["dataset"] != "NCI1" or row["first"] == "EdgeAdd")
    )
    verdict = item.judge(few)[0]
    assert set(verdict.numbers) == {"COLLAB", "IMDB-BINARY"}
    assert "on 2 of 2 datasets" in verdict.sentence
