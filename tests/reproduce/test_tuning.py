"""Methods tuned alike: the same search for all, and a choice that the labels of a test fold have no part in."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmrgcl.errors import SettingError
from nmrgcl.reproduce import find_item
from nmrgcl.reproduce.item_page import write_item
from nmrgcl.reproduce.plan import Plan
from nmrgcl.reproduce.scores import Row, Scores
from nmrgcl.reproduce.tuning import BUDGET, METHODS, RIVALS, candidates, judge, nested_folds, preset_folds, tabulate
from nmrgcl.run.engine import run_cells
from nmrgcl.run.results import Results
from nmrgcl.tune.found import Found
from nmrgcl.tune.search import gather, plan_search

ITEM = find_item("tuning")
PLAN: Plan = ITEM.plan(only=["PTC_MR", "NCI1"], seeds=2)


def rows_with(folds: Callable[..., tuple[list[float], list[float]]], plan: Plan = PLAN) -> list[Row]:
    """A row for each cell, with ``folds(dataset, method, candidate, seed)`` as its inner and its test scores."""
    rows = []
    for number, placed in enumerate(ITEM.cells(plan)):
        dataset, seed = placed.cell.dataset, placed.cell.seed
        inner, outer = folds(dataset, *placed.at, seed)
        facts = {"protocol": "svm", "selection": "honest", "device": "cpu", "key": f"{number:032x}"}
        at = {"dataset": dataset, **dict(zip(ITEM.axes, placed.at, strict=True)), "seed": seed}
        rows.append({**at, "score": float(np.mean(outer)), **facts, "inner": inner, "folds": outer})
    return rows


def noisy(lead: Callable[[str, int], float]) -> Callable[..., tuple[list[float], list[float]]]:
    """Ten folds around 70 plus ``lead(method, candidate)``, the same noise for all candidates of a dataset and seed."""

    def folds(dataset: str, method: str, candidate: int, seed: int) -> tuple[list[float], list[float]]:
        chance = np.random.default_rng([len(dataset), seed, METHODS.index(method)])
        outer = 70 + lead(method, candidate) + 0.3 * chance.normal(size=10)
        return [70 + lead(method, candidate)] * 10, outer.tolist()

    return folds


def scores_of(rows: list[Row]) -> Scores:
    return ITEM.scores(PLAN, rows)


def outcomes(scores: Scores) -> list[str]:
    return [verdict.outcome for verdict in ITEM.judge(scores)]


def test_every_trained_method_gets_the_same_draws() -> None:
    drawn = {method: candidates(method, "NCI1")[1:] for method in METHODS if method not in ("wl", "untrained")}
    common = {
        method: [(e.layers, e.units, e.pool, t.epochs, t.lr, s) for e, t, s in
                 ((one.encoder, one.train, one.svm.standardise) for one in some)]
        for method, some in drawn.items()
    }  # fmt: skip
    assert len(set(common["nmrgcl"])) == BUDGET - 1
    assert all(some == common["nmrgcl"] for some in common.values())


def test_what_has_no_effect_is_not_searched() -> None:
    untrained = candidates("untrained", "NCI1")
    assert len(untrained) == BUDGET
    assert len({one.train for one in untrained}) == 1
    rounds = [one.options.iterations for one in candidates("wl", "NCI1")]
    assert sorted(rounds) == [1, 2, 3, 5, 8]


def test_a_larger_method_keeps_what_is_its_own() -> None:
    presets = {method: candidates(method, "NCI1")[0] for method in METHODS}
    for method, start in presets.items():
        for one in candidates(method, "NCI1"):
            assert one.views == start.views
            assert method == "wl" or one.options == start.options
            assert one.svm.c == "grid"


def test_given_settings_are_not_searched() -> None:
    settings = candidates("graphcl", "NCI1", ("train.epochs=2", "encoder.units=32"))
    assert {(one.train.epochs, one.encoder.units) for one in settings} == {(2, 32)}
    assert len({one.encoder.layers for one in settings}) > 1


def test_each_fold_gets_the_candidate_that_is_best_inside_its_training_folds() -> None:
    def folds(dataset: str, method: str, candidate: int, seed: int) -> tuple[list[float], list[float]]:
        # Candidate 1 is best inside for the first four folds, candidate 2 for the others; outside, 3 is always best.
        inner = [float(candidate == 1) + 50] * 4 + [float(candidate == 2) + 50] * 6
        return inner, [60.0 + candidate if candidate < 3 else 99.0] * 10

    found = nested_folds(scores_of(rows_with(folds)))
    assert found["graphcl", "NCI1", 1] == [61.0] * 4 + [62.0] * 6
    assert preset_folds(scores_of(rows_with(folds)))["graphcl", "NCI1", 1] == [60.0] * 10


def test_a_search_that_is_cut_short_has_no_score() -> None:
    rows = rows_with(noisy(lambda method, candidate: 0.0))
    cut = [r for r in rows if (r["dataset"], r["method"], r["candidate"], r["seed"]) != ("NCI1", "wl", 3, 0)]
    found = nested_folds(scores_of(cut))
    assert ("wl", "NCI1", 0) not in found
    assert len(found) == 2 * 2 * len(METHODS) - 1
    assert scores_of(cut).missing == 1
    results = tabulate(scores_of(cut))[0]
    tuned = {name: line for (name, *_), (_, *line) in zip(results.rows[::2], results.rows[1::2], strict=True)}
    assert tuned["wl"][-1].endswith("n = 1")


def test_a_method_that_is_better_once_tuned_is_confirmed() -> None:
    lead = {"nmrgcl": 3.0, "wl": 3.0}
    scores = scores_of(rows_with(noisy(lambda method, candidate: lead.get(method, 0.0) + 2.0 * (candidate == 4))))
    found = dict(zip([*RIVALS, "gain"], outcomes(scores), strict=True))
    assert found.pop("wl") == "not confirmed"
    assert set(found.values()) == {"confirmed"}


def test_the_gain_is_one_number_for_each_dataset_and_seed() -> None:
    scores = scores_of(rows_with(noisy(lambda method, candidate: 1.0 * candidate)))
    *_, gain = judge(scores)
    assert "n = 4 pairs over 2 datasets" in gain.sentence


def test_a_search_that_finds_nothing_is_not_confirmed_to_gain() -> None:
    assert outcomes(scores_of(rows_with(noisy(lambda method, candidate: -1.0 * candidate))))[-1] == "not confirmed"


def test_a_page_is_written_with_all_some_or_nothing(tmp_path: Path) -> None:
    rows = rows_with(noisy(lambda method, candidate: float(METHODS.index(method))))
    for name, some in {"all": rows, "part": rows[::3], "nothing": []}.items():
        made = write_item(ITEM, PLAN, some, tmp_path / name)
        page = made.page.read_text(encoding="utf-8")
        assert "Accuracy before and after the same search" in page
        assert ("average rank" in page.lower()) == (name == "all")


def test_methods_can_be_named_and_nodes_cannot() -> None:
    plan = ITEM.plan(only=["PTC_MR"], seeds=1, rows=["wl", "cuco"])
    assert {placed.at[0] for placed in ITEM.cells(plan)} == {"wl", "cuco"}
    with pytest.raises(SettingError, match="--preset"):
        ITEM.plan(preset="strong")
    with pytest.raises(SettingError, match="PubMed"):
        ITEM.plan(only=["PubMed"])


def test_its_scores_are_those_of_tune(tmp_path: Path) -> None:
    plan = ITEM.plan(only=["MUTAG"], seeds=1, rows=["wl"])
    cells = [placed.cell for placed in ITEM.cells(plan)]
    run_cells(cells, tmp_path, jobs=1, backend="inline", device="cpu")
    options: dict[str, Any] = {"budget": BUDGET, "seeds": 1, "protocol": "svm", "chance": 0}
    search = plan_search("MUTAG", "wl", assignments={}, space="equal", **options)
    assert [cell.key for cell in search.cells()] == [cell.key for cell in cells]
    found = Found(search, gather(search, tmp_path), "", "").choice.scores
    rows = []
    for placed in ITEM.cells(plan):
        result = Results(tmp_path).finished(placed.cell.key)
        assert result is not None
        row = {"dataset": "MUTAG", "method": "wl", "candidate": placed.at[1], "seed": 0, "score": result.mean}
        rows.append(row | {name: result.scores[name] for name in ("folds", "inner")})
    assert nested_folds(ITEM.scores(plan, rows))["wl", "MUTAG", 0] == pytest.approx(found[0].tolist())
