"""Which method is best if all are tuned alike?

    nmrgcl reproduce tuning           # 8 datasets × 6 methods × 8 candidates (WL: 5) × 3 seeds = 1,080 cells
    nmrgcl reproduce tuning --quick   # PTC_MR, 2 seeds, 2 epochs: 86 cells, minutes on two cores

The paper compares a tuned nmrGCL with figures that others printed. Here every method gets the same search: its own
preset and seven random draws from what all encoders and trainings have in common (space ``equal``), and for every test
fold the candidate that is best inside the training folds. What is reported is the accuracy of this whole procedure.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from nmrgcl.evaluate.paired import correct_pairs, pair_rows
from nmrgcl.evaluate.spread import with_spread
from nmrgcl.report.grid import MISSING, Grid
from nmrgcl.report.page import Bold
from nmrgcl.report.svg import Picture
from nmrgcl.reproduce.drawing import mean_and_deviation
from nmrgcl.reproduce.item import Item
from nmrgcl.reproduce.plan import Extent, Placed, Plan
from nmrgcl.reproduce.scores import Row, Scores
from nmrgcl.reproduce.statistics import Comparison, compare, corrected
from nmrgcl.reproduce.tables.cell_texts import interval_text, pair_text
from nmrgcl.reproduce.tables.grids import ranking_grid
from nmrgcl.reproduce.tables.ranking import Ranking, rank_rows
from nmrgcl.reproduce.tables.ranking_drawing import ranking_picture
from nmrgcl.reproduce.tables.sheet import load_sheet
from nmrgcl.reproduce.verdict import Verdict, greater
from nmrgcl.run.cell import Cell
from nmrgcl.run.recipe import free_assignments, recipe
from nmrgcl.settings import Settings
from nmrgcl.tune.choice import choose_by_fold
from nmrgcl.tune.search import draw_candidates, free_space

OURS = "nmrgcl"
METHODS = (OURS, "graphcl", "infograph", "graphmae", "wl", "untrained")
SPACE = "equal"
BUDGET = 8
"""The number of candidates for each method, its preset among them."""
RIVALS = {
    "graphcl": "GraphCL",
    "infograph": "InfoGraph",
    "graphmae": "GraphMAE",
    "wl": "the WL kernel",
    "untrained": "the untrained encoder",
}
CLAIMS = (
    *(f"tuned alike, nmrGCL exceeds {name}" for name in RIVALS.values()),
    "tuning raises the accuracy of presets",
)

Folds = dict[tuple[str, str, int], list[float]]
"""Accuracies on the test folds, by method, dataset and seed."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SearchItem(Item):
    """Searches on several datasets, one for each method; a cell is a candidate with a seed."""

    def cells(self, plan: Plan) -> list[Placed]:
        """One cell per dataset, method, candidate and seed."""
        return [
            Placed((method, number), Cell(dataset, replace(settings, seed=settings.seed + seed), "svm"))
            for dataset in plan.datasets
            for method in plan.rows or METHODS
            for number, settings in enumerate(candidates(method, dataset, plan.assignments))
            for seed in range(plan.seeds)
        ]

    def scores(self, plan: Plan, rows: Sequence[Row]) -> Scores:
        """The scores of every candidate; where a space is small, a method has fewer than the others."""
        cells = self.cells(plan)
        wanted = tuple(dict.fromkeys(placed.at for placed in cells))
        asked = np.zeros((len(plan.datasets), len(wanted), plan.seeds), bool)
        for placed in cells:
            asked[plan.datasets.index(placed.cell.dataset), wanted.index(placed.at)] = True
        return replace(super().scores(plan, rows), wanted=wanted, asked=asked)

    def pictures(self, scores: Scores) -> list[Picture]:
        """Average ranks, if there are enough methods and datasets."""
        ranking = rank_methods(scores)
        return [ranking_picture(scores, ranking, "nested")] if ranking else []

    def grids(self, plan: Plan, scores: Scores) -> list[Grid]:
        """Accuracies before and after, what the search gains, differences from nmrGCL, and ranks."""
        ranking = rank_methods(scores)
        return [*tabulate(scores), *([ranking_grid(ranking)] if ranking else [])]

    def kind(self, placed: Placed) -> tuple[Any, ...]:
        """Candidates of a method cost about the same."""
        return placed.at[:1]

    def _check_options(self, given: Any) -> None:
        super()._check_options({key: value for key, value in given.items() if key != "rows"})


@cache
def candidates(method: str, dataset: str, assignments: tuple[str, ...] = ()) -> tuple[Settings, ...]:
    """The method's own preset, and draws from the space, the same on every machine."""
    start = recipe(method, assignments=assignments, dataset=dataset, method_wins=True)
    if start.svm.c == "default":
        start = start.updated({"svm.c": "grid"})  # A single C has no inner scores to choose by.
    space = free_space(SPACE, start, free_assignments(method, assignments))
    drawn = draw_candidates(start, space, budget=BUDGET, chance=0, name=dataset)
    return tuple(candidate.settings for candidate in drawn.values())


def nested_folds(scores: Scores) -> Folds:
    """For every test fold the accuracy of the candidate that is best inside its training folds.

    Only for seeds of which all candidates are computed: a search that is cut short is another, smaller search.
    """
    found = {}
    for (dataset, method, seed), rows in _searches(scores).items():
        inner, outer = (np.array([row[name] for row in rows])[:, None] for name in ("inner", "folds"))
        found[method, dataset, seed] = choose_by_fold(inner, outer).scores[0].tolist()
    return found


def preset_folds(scores: Scores) -> Folds:
    """The accuracies of the presets, for the same seeds."""
    return {(method, dataset, seed): rows[0]["folds"] for (dataset, method, seed), rows in _searches(scores).items()}


def _searches(scores: Scores) -> dict[tuple[str, str, int], list[Row]]:
    """The rows of all candidates in order, for each dataset, method and seed that has them all."""
    assert scores.asked is not None
    rows: dict[tuple[str, str, int], dict[int, Row]] = {}
    for row in scores.rows:
        rows.setdefault((row["dataset"], row["method"], row["seed"]), {})[row["candidate"]] = row
    whole = {}
    for (dataset, method, seed), own in rows.items():
        if dataset in scores.datasets and 0 <= seed < scores.seeds:
            asked = scores.asked[scores.datasets.index(dataset), :, seed]
            wanted = [at[1] for at, there in zip(scores.wanted, asked, strict=True) if there and at[0] == method]
            if wanted and own.keys() >= set(wanted):
                whole[dataset, method, seed] = [own[number] for number in wanted]
    return whole


def judge(scores: Scores) -> list[Verdict]:
    """Nested accuracies paired by seed, corrected together."""
    tuned, preset = (_cube(scores, folds) for folds in (nested_folds(scores), preset_folds(scores)))
    leads = [_lead(scores, tuned, rival) for rival in RIVALS]
    # One number for each dataset and seed: methods are judged on the same folds, so their gains are not independent.
    every = [tuned[method] - preset[method] for method in tuned]
    gained = compare(np.ma.masked_invalid(every).mean(0).filled(np.nan)) if every else None
    *leads, gained = corrected([*leads, gained])
    verdicts = [
        greater(claim, lead, f"nmrGCL minus {name}, both tuned")
        for claim, lead, name in zip(CLAIMS, leads, RIVALS.values(), strict=False)
    ]
    return [*verdicts, greater(CLAIMS[-1], gained, "tuned (nested) minus preset, mean over methods")]


def tabulate(scores: Scores) -> list[Grid]:
    """Three tables by dataset: accuracies, what the search gains, and differences from nmrGCL."""
    tuned, preset = (_cube(scores, folds) for folds in (nested_folds(scores), preset_folds(scores)))
    names = load_sheet("table1").columns
    head = [names.get(dataset, dataset) for dataset in scores.datasets]
    means = {method: mean_and_deviation(values)[0] for method, values in tuned.items()}
    best = np.nanmax([*means.values(), np.full(len(head), -np.inf)], axis=0)
    lines, gains = [], []
    for method in tuned:
        lines.append([method, "preset", *(_text(values) for values in preset[method])])
        tops = means[method] >= best
        cells = [_text(values) for values in tuned[method]]
        lines.append(["", "tuned", *(Bold(c) if top else c for c, top in zip(cells, tops, strict=True))])
        found = [compare(values[None]) for values in tuned[method] - preset[method]]
        gains.append([method, *map(interval_text, found), interval_text(compare(tuned[method] - preset[method]))])
    folds, others = nested_folds(scores), [method for method in tuned if method != OURS]
    tested = [pair_rows(folds, method, OURS, dataset) for method in others for dataset in scores.datasets]
    pairs = {(pair.row, pair.dataset): pair for pair in correct_pairs([pair for pair in tested if pair])}
    return [
        Grid(
            "results",
            "Accuracy before and after the same search",
            f"Accuracy in %, mean ± sample standard deviation over n = {scores.seeds} seeds, or as many as it says. "
            f"Preset: each method's own settings. Tuned: the nested estimate over {BUDGET} candidates (WL has one for "
            "each number of rounds); for every test fold the candidate that is best inside its training folds. Bold: "
            f"the highest tuned accuracy. {MISSING}: not every candidate is computed. {scores.extent}.",
            ("method", "settings", *head),
            lines,
            names=2,
        ),
        Grid(
            "gains",
            "What the search gains",
            "Tuned minus preset, paired by seed, with 95 % intervals. Bold: zero is outside.",
            ("method", *head, "all datasets"),
            gains,
        ),
        Grid(
            "pairs",
            "Against nmrGCL",
            "Method minus nmrGCL, both tuned, on the same folds: corrected resampled t-test (Nadeau & Bengio 2003), "
            f"p-values by Holm over all {len(pairs)} comparisons. Bold: p < 0.05.",
            ("method", *head),
            [[method, *(pair_text(pairs.get((method, dataset))) for dataset in scores.datasets)] for method in others],
        ),
    ]


def rank_methods(scores: Scores) -> Ranking | None:
    """Average ranks of the tuned methods."""
    tuned = _cube(scores, nested_folds(scores))
    means = np.stack([mean_and_deviation(values)[0] for values in tuned.values()], 1)
    return rank_rows(list(tuned), scores.datasets, means)


def _cube(scores: Scores, folds: Folds) -> dict[str, np.ndarray]:
    """For each method the mean accuracies ``[datasets, seeds]``, NaN where a search is incomplete."""
    cube = {at[0]: np.full((len(scores.datasets), scores.seeds), np.nan) for at in scores.wanted}
    for (method, dataset, seed), values in folds.items():
        cube[method][scores.datasets.index(dataset), seed] = np.mean(values)
    return cube


def _lead(scores: Scores, tuned: dict[str, np.ndarray], rival: str) -> Comparison | None:
    """The lead of nmrGCL over another method, paired by seed."""
    if not {OURS, rival} <= tuned.keys():
        return None
    levels = [at for at in scores.wanted if at[0] in (OURS, rival)]
    return compare(tuned[OURS] - tuned[rival], mixed=scores.mixed(*levels))


def _text(values: np.ndarray) -> str:
    there = values[np.isfinite(values)]
    if not len(there):
        return MISSING
    spread = float(there.std(ddof=1)) if len(there) > 1 else None
    few = f", n = {len(there)}" if len(there) < len(values) else ""
    return with_spread(float(there.mean()), spread) + few


ITEM = SearchItem(
    name="tuning",
    title="Methods tuned alike (not in the paper)",
    note="Five methods and the untrained encoder, each with the same search: its own preset and seven draws from space "
    "equal (layers, units, pooling, epochs, learning rate, scaling of embeddings). What a method alone has stays as in "
    "its preset, and nmrGCL's preset was itself chosen by such accuracies, those of the others by their authors. "
    "Accuracies are nested: settings and C are chosen inside the training folds.",
    cost="1,080 cells, meant for a GPU; --quick: 86 cells, minutes on two cores",
    claims=CLAIMS,
    full=Extent(("PTC_MR", "PROTEINS", "NCI1", "DD", "COLLAB", "IMDB-BINARY", "IMDB-MULTI", "REDDIT-BINARY"), 3),
    small=Extent(("PTC_MR",), 2, assignments=("train.epochs=2", "encoder.units=32", "encoder.layers=2")),
    judge=judge,
    protocols=("svm",),
    axes=("method", "candidate"),
    by_fold=("folds", "inner"),
)
