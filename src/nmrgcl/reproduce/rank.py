"""Does the rank of embeddings predict their accuracy?

    nmrgcl reproduce rank           # 9 datasets × (8 views × 3 removals + untrained) × 5 seeds = 1,125 cells
    nmrgcl reproduce rank --quick   # PTC_MR, 2 seeds: 50 cells, minutes on two cores

The paper's central claim is that dimensional collapse harms embeddings, and that removal makes them better by avoiding
it. If so, within a dataset, trainings that end with a higher effective rank are more accurate. Here views and
thresholds vary as in figures 5 to 8, and every cell records its effective rank and other measures that need no labels.
Where accuracy does not depend on the setting beyond chance, nothing can predict it: such datasets decide nothing.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from nmrgcl.evaluate.paired import holm
from nmrgcl.evaluate.spread import with_p
from nmrgcl.report.grid import MISSING, Grid
from nmrgcl.report.page import Bold
from nmrgcl.report.svg import INK, PALETTE, STYLE, Picture, grid_lines
from nmrgcl.reproduce.correlation import Correlation, average, reliability, spearman
from nmrgcl.reproduce.drawing import heading, mean_and_deviation, panels, trials
from nmrgcl.reproduce.figure8 import AUGMENTATIONS, P
from nmrgcl.reproduce.item import FigureItem
from nmrgcl.reproduce.plan import Extent
from nmrgcl.reproduce.scores import Scores
from nmrgcl.reproduce.statistics import LEVEL, Comparison, compare, corrected, spread
from nmrgcl.reproduce.verdict import Rule, Verdict, greater, no_data
from nmrgcl.settings import Settings

PRESET_VIEWS = "preset"
NONE, UNTRAINED, PAPER = "none", "untrained", 0.7
REMOVALS = (NONE, PAPER, 0.3)
"""No removal, and two thresholds δ."""
MEASURES = {
    "effective_rank": "effective rank",
    "participation_ratio": "participation ratio",
    "stable_rank": "stable rank",
    "spectrum_decay": "decay of the spectrum (power)",
    "mean_correlation": "mean correlation of dimensions",
    "uniformity": "uniformity (lower: more uniform)",
    "alignment": "alignment (lower: closer views)",
    "neighbours": "common neighbours of two views",
    "loss": "final loss",
}
"""Measures that a cell records, in words."""
STRATA = ("between views", "view held fixed", "across seeds")
UNITS = dict(zip(STRATA, ("views", "settings", "trainings"), strict=True))
NEGLIGIBLE = 0.3
"""A negligible correlation: it would explain less than a tenth of the variance of accuracy ranks."""
CLAIMS = (
    "views whose embeddings have a higher effective rank are more accurate",
    "with the view held fixed, thresholds that raise the effective rank raise accuracy",
    "removal raises the effective rank (eight views, δ = 0.7)",
    "removal raises accuracy (eight views, δ = 0.7)",
    "training raises accuracy above that of the untrained encoder",
)
_RULE = Rule(
    "datasets whose accuracy depends on the setting, and there a correlation above 0 beyond chance",
    f"such datasets, and there a correlation below 0 beyond chance or an interval below {NEGLIGIBLE:g}",
)


def levels(base: Settings) -> dict[tuple[Any, ...], Settings]:
    """Settings for every pair of views and removal, and for no training."""
    views: dict[str, dict[str, Any]] = {PRESET_VIEWS: {}}
    for name in AUGMENTATIONS:
        view = [{"name": name, "p": P}]
        views[name] = {"views.first": view, "views.second": view}
    removals: dict[Any, dict[str, Any]] = {
        one: {"options.removal": NONE} if one == NONE else {"options.delta": one} for one in REMOVALS
    }
    trained: dict[tuple[Any, ...], Settings] = {
        (view, removal): base.updated(views[view] | removals[removal]) for view in views for removal in removals
    }
    return trained | {(PRESET_VIEWS, UNTRAINED): base.updated({"method": "untrained", "train.epochs": 0})}


def judge(scores: Scores) -> list[Verdict]:
    """Rank correlations averaged over datasets, and differences paired by seed, corrected together."""
    rank, cube = scores.measure("effective_rank"), scores.cube
    removed = compare(_by_removal(scores, rank), unit="dimensions of effective rank")
    gained = compare(_by_removal(scores, cube), mixed=_mixed(scores, NONE, PAPER))
    ours, fresh = (_level(scores, cube, PRESET_VIEWS, removal) for removal in (PAPER, UNTRAINED))
    taught = compare(ours - fresh, mixed=scores.mixed((PRESET_VIEWS, PAPER), (PRESET_VIEWS, UNTRAINED)))
    across, fixed = (_average(scores, "effective_rank", stratum) for stratum in STRATA[:2])
    across, fixed, removed, gained, taught = corrected([across, fixed, removed, gained, taught])
    ranks = " and ".join(_said(_mean(_level(scores, rank, PRESET_VIEWS, one))) for one in (PAPER, UNTRAINED))
    words = "Spearman's ρ of effective rank and accuracy"
    return [
        _predicts(CLAIMS[0], scores, across, f"{words}, means of views"),
        _predicts(CLAIMS[1], scores, fixed, f"{words}, means over seeds, views held fixed"),
        greater(CLAIMS[2], removed, "δ = 0.7 minus no removal, mean over views"),
        greater(CLAIMS[3], gained, "δ = 0.7 minus no removal, mean over views"),
        greater(CLAIMS[4], taught, f"preset minus untrained (mean effective ranks {ranks})"),
    ]


def _predicts(claim: str, scores: Scores, found: Comparison | None, words: str) -> Verdict:
    """Decided by the datasets whose accuracy depends on the setting; undecided if there is none."""
    there = _computed(scores)
    if not there:
        return no_data(claim, f"{words}: no pairs of scores")
    deciding = f"accuracy differs between settings beyond chance on {len(differing(scores))} of {len(there)} datasets"
    if found is None:
        return replace(
            no_data(claim, f"{deciding}, so that nothing can predict it"), outcome="inconclusive", rule=_RULE
        )
    verdict = greater(claim, found, words, margin=NEGLIGIBLE)
    return replace(verdict, sentence=f"{verdict.sentence}; {deciding}, and these decide")


def differing(scores: Scores) -> list[int]:
    """The datasets whose trained settings differ in accuracy beyond chance (Friedman's test, Holm over datasets)."""
    found = [(number, spread(cube[_settings(scores)])) for number, cube in enumerate(scores.cube)]
    there = [(number, one.p) for number, one in found if one is not None]
    adjusted = holm([p for _, p in there])
    return [number for (number, _), p in zip(there, adjusted, strict=True) if p < LEVEL]


def tabulate(scores: Scores) -> list[Grid]:
    """Correlations with accuracy: of all measures averaged over datasets, and of the effective rank on each."""
    found = {(name, stratum): _average(scores, name, stratum) for name in MEASURES for stratum in STRATA}
    adjusted = dict(zip(found, corrected(list(found.values())), strict=True))
    there = sum(one is not None for one in adjusted.values())
    rows = [[words, *(_cell(adjusted[name, stratum]) for stratum in STRATA)] for name, words in MEASURES.items()]
    every = Grid(
        "measures",
        "Rank correlation of each measure with accuracy",
        "Spearman's ρ with its 95 % interval, averaged over datasets. Between views: the means of eight views, since "
        "thresholds with one view are no independent cases; view held fixed: the means over seeds of views and "
        "thresholds, after the effect of the view on ranks is removed; both on the datasets "
        f"whose settings differ in accuracy beyond chance ({_listed(scores)}). Across seeds: single trainings, "
        "settings and seeds held fixed. Bold: beyond chance after Holm's correction for the "
        f"{there} correlations of the table. {scores.extent}.",
        ("measure", *STRATA),
        rows,
    )
    own = [_by_dataset(scores, "effective_rank", stratum) for stratum in STRATA]
    single = [corrected([average([one], "") for one in column]) for column in own]
    rank, cube = scores.measure("effective_rank"), scores.cube
    rows = [
        [
            dataset,
            _share(reliability(cube[number, _settings(scores)])),
            *(_cell(column[number]) for column in single),
            *(_beside(_level(scores, values, PRESET_VIEWS, UNTRAINED)[number], _trained(scores, values)[number])
              for values in (rank, cube)),
        ]
        for number, dataset in enumerate(scores.datasets)
    ]  # fmt: skip
    datasets = Grid(
        "datasets",
        "Effective rank and accuracy by dataset",
        "The first row of the table above for each dataset, Holm's correction by column; and the means over seeds of "
        "the untrained encoder, then the lowest and the highest of the trained settings. Reliability: the share of "
        "the variance of mean accuracies between settings that is not due to seeds; no measure can correlate by more "
        "than its square root.",
        ("dataset", "reliability", *STRATA, "rank: untrained, trained", "accuracy: untrained, trained"),
        rows,
    )
    return [every, datasets]


def draw(scores: Scores) -> list[Picture]:
    """Accuracy against effective rank, a panel for each dataset."""
    found = zip(scores.datasets, _by_dataset(scores, "effective_rank", STRATA[0]), strict=True)
    said = "; ".join(f"{name} ρ = {one.rho:.2f}" for name, one in found if one) or "nothing is computed yet"
    return [
        Picture(
            key="rank",
            title="Accuracy by effective rank",
            description=f"Scatter plots of settings. Between views: {said}.",
            caption="Each point is a setting, the mean over seeds; colours and shapes tell removals apart. Line: the "
            f"untrained encoder, star at its effective rank. The axes do not start at zero. {scores.extent}.",
            figure=plot_ranks(scores),
        )
    ]


@rc_context(STYLE)
def plot_ranks(scores: Scores) -> Figure:
    """Datasets of which there is something side by side, each on its own scale."""
    rank, cube = scores.measure("effective_rank"), scores.cube
    shown = _computed(scores) or list(range(len(scores.datasets)))
    figure, grid = panels(len(shown), width=3.1, height=2.9, across=3)
    own = _by_dataset(scores, "effective_rank", STRATA[0])
    for axes, number in zip(grid, shown, strict=True):
        for place, removal in enumerate(REMOVALS):
            chosen = [at[1] == removal for at in scores.wanted]
            x, y = (_means(values[number])[chosen] for values in (rank, cube))
            axes.scatter(x, y, s=26, marker="os^"[place], color=PALETTE[place], alpha=0.85, linewidths=0)
        fresh = [_mean(_level(scores, values, PRESET_VIEWS, UNTRAINED)[number]) for values in (rank, cube)]
        if np.isfinite(fresh[1]):
            axes.axhline(fresh[1], color=INK, linewidth=0.8, linestyle="--")
            axes.scatter(fresh[:1], fresh[1:], marker="*", s=70, color=INK, linewidths=0)
        one, gaps = own[number], int(np.isnan(cube[number]).sum())
        parts = [f"ρ between views {one.rho:.2f}".replace("-", "−")] if one else []
        parts += [f"{gaps} cells not computed"] if gaps else []
        axes.set_title(f"{scores.datasets[number]} ({trials(cube[number])})\n{'; '.join(parts)}", fontsize=10)
        axes.set_xlabel("effective rank")
        axes.set_ylabel("accuracy in %")
        grid_lines(axes)
    words = [f"δ = {one:g}" if isinstance(one, float) else "no removal" for one in REMOVALS]
    marks: list[tuple[str, str, str]] = [*zip(words, "os^", PALETTE, strict=False), ("untrained", "*", INK)]
    handles = [Line2D([], [], linestyle="", marker=m, color=colour, label=name) for name, m, colour in marks]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=10)
    heading(figure, scores, f"Accuracy by effective rank, means over seeds; judge: {scores.protocol}")
    return figure


def _average(scores: Scores, measure: str, stratum: str) -> Comparison | None:
    """The mean correlation over the datasets that can show one; between seeds, all can."""
    found = _by_dataset(scores, measure, stratum)
    used = found if stratum == STRATA[2] else [found[number] for number in differing(scores)]
    return average(used, UNITS[stratum])


def _computed(scores: Scores) -> list[int]:
    """The numbers of datasets that have at least one cell."""
    return [number for number, cube in enumerate(scores.cube) if np.isfinite(cube).any()]


def _listed(scores: Scores) -> str:
    return ", ".join(scores.datasets[number] for number in differing(scores)) or "none"


def _settings(scores: Scores) -> list[int]:
    """The numbers of the trained settings."""
    return [number for number, at in enumerate(scores.wanted) if at[1] != UNTRAINED]


def _by_dataset(scores: Scores, measure: str, stratum: str) -> list[Correlation | None]:
    """The correlation of one measure with accuracy on each dataset; the untrained encoder takes no part."""
    trained = _settings(scores)
    views = np.array([str(scores.wanted[number][0]) for number in trained])
    x, y = scores.measure(measure)[:, trained], scores.cube[:, trained]
    if stratum == STRATA[2]:
        places = np.indices(x.shape[1:])
        # With both held fixed, only chance within a setting is left to correlate.
        setting, seed = places[0].ravel(), places[1].ravel()
        return [spearman(a.ravel(), b.ravel(), setting, seed) for a, b in zip(x, y, strict=True)]
    # Means over the same seeds on both sides, where either is missing.
    both = [tuple(_means(np.where(np.isfinite(a) & np.isfinite(b), side, np.nan)) for side in (a, b))
            for a, b in zip(x, y, strict=True)]  # fmt: skip
    if stratum == STRATA[1]:
        return [spearman(a, b, views) for a, b in both]
    # One point per view: thresholds under the same view are not independent of each other.
    of_view = [views == name for name in dict.fromkeys(views)]
    return [spearman(*(np.array([_mean(side[own]) for own in of_view]) for side in pair)) for pair in both]


def _level(scores: Scores, values: np.ndarray, *at: Any) -> np.ndarray:
    """The values ``[datasets, seeds]`` of one setting."""
    chosen: np.ndarray = values[:, scores.wanted.index(at)]
    return chosen


def _by_removal(scores: Scores, values: np.ndarray) -> np.ndarray:
    """δ = 0.7 minus no removal ``[datasets, seeds]``, the mean over views."""
    ours, none = ([n for n, at in enumerate(scores.wanted) if at[1] == removal] for removal in (PAPER, NONE))
    difference: np.ndarray = (values[:, ours] - values[:, none]).mean(1)
    return difference


def _mixed(scores: Scores, *removals: Any) -> tuple[str, ...]:
    return scores.mixed(*(at for at in scores.wanted if at[1] in removals))


def _trained(scores: Scores, values: np.ndarray) -> np.ndarray:
    """The means over seeds ``[datasets, settings]`` of trained settings."""
    return _means(values[:, _settings(scores)])


def _means(values: np.ndarray) -> np.ndarray:
    """Means over the last axis of what is there, NaN where nothing is."""
    return mean_and_deviation(values)[0]


def _mean(values: np.ndarray) -> float:
    return float(_means(values.ravel()[None])[0])


def _cell(found: Comparison | None) -> str:
    if found is None:
        return MISSING
    text = f"{found.mean:+.2f} ({found.low:+.2f} … {found.high:+.2f}), {with_p(found.p)}".replace("-", "−")
    return Bold(text) if found.p < LEVEL else text


def _share(value: float | None) -> str:
    return MISSING if value is None else f"{value:.2f}"


def _beside(untrained: np.ndarray, trained: Sequence[float]) -> str:
    there = [value for value in trained if np.isfinite(value)]
    if not there:
        return MISSING
    return f"{_said(_mean(untrained))}, {min(there):.1f} to {max(there):.1f}"


def _said(value: float) -> str:
    return f"{value:.1f}" if np.isfinite(value) else MISSING


ITEM = FigureItem(
    name="rank",
    title="Does effective rank predict accuracy?",
    note="Not a figure of the paper, but its central claim. Preset graphcl: its own views and seven augmentations, "
    f"each on both sides at p = {P:g}, with no removal and two thresholds.",
    cost="1,125 cells: meant for a GPU; --quick: 50 cells, minutes on two cores",
    claims=CLAIMS,
    full=Extent(
        (
            *("MUTAG", "PTC_MR", "PROTEINS", "NCI1", "DD"),
            *("COLLAB", "IMDB-BINARY", "IMDB-MULTI", "REDDIT-BINARY"),
        ),
        5,
    ),
    small=Extent(("PTC_MR",), 2),
    judge=judge,
    draw=draw,
    tabulate=tabulate,
    axes=("views", "removal"),
    levels=levels,
    protocols=("lssvm", "svm"),
    measures=tuple(MEASURES),
)
