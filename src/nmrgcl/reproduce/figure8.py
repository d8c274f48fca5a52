"""Figure 8 (App. F): every ordered pair of seven augmentations, p = 0.7.

    nmrgcl reproduce figure8           # 8 datasets × 49 pairs × 5 seeds = 1,960 cells; meant for a GPU
    nmrgcl reproduce figure8 --quick   # PTC_MR, 3 seeds: 147 cells, minutes on two cores

The paper says that pairs differ much (COLLAB: 68.27 with FeatureDropout and Subgraph, 75.07 with NodeShuffling and
EdgeDrop), and that two identical augmentations are relatively good, even best, on COLLAB, IMDB-B and NCI1.
PTC_MR stands in for REDDIT-MULTI-5K.
"""

from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from nmrgcl.evaluate.paired import holm
from nmrgcl.report.svg import STYLE, Picture
from nmrgcl.reproduce.drawing import heading, heat, mean_and_deviation, missing_patch, panels, trials
from nmrgcl.reproduce.item import FigureItem
from nmrgcl.reproduce.plan import Extent
from nmrgcl.reproduce.scores import Scores
from nmrgcl.reproduce.statistics import LEVEL, compare, corrected, spread
from nmrgcl.reproduce.verdict import MARGIN, ClaimOutcome, Rule, Verdict, greater, no_data
from nmrgcl.settings import Settings

P = 0.7
AUGMENTATIONS = {
    "EdgeAdd": "EA",
    "EdgeDrop": "ER",
    "FeatureDropout": "FD",
    "FeatureMasking": "FM",
    "NodeDrop": "ND",
    "NodeShuffling": "NS",
    "Subgraph": "RWS",
}
"""Augmentations, and the paper's abbreviations for them."""
PAIRS = [(first, second) for first in AUGMENTATIONS for second in AUGMENTATIONS]
LOW, HIGH = ("FeatureDropout", "Subgraph"), ("NodeShuffling", "EdgeDrop")
"""The paper's example of how much pairs differ on COLLAB."""
ALIKE = ("COLLAB", "IMDB-BINARY", "NCI1")
"""The datasets on which the paper finds pairs of identical augmentations relatively good."""
PROTOCOL = "lssvm"
"""The default protocol, a least-squares SVM, because on a CPU an SVM would take longer than the training."""
CLAIMS = (
    "performance varies significantly with the pair of augmentations",
    "COLLAB: NodeShuffling + EdgeDrop (75.07) beats FeatureDropout + Subgraph (68.27)",
    "two identical augmentations are relatively good on COLLAB, IMDB-B and NCI1",
)


def levels(base: Settings) -> dict[tuple[Any, ...], Settings]:
    """Settings for every ordered pair of augmentations."""
    return {(first, second): base.updated({"views.first": _view(first), "views.second": _view(second)})
            for first, second in PAIRS}  # fmt: skip


def judge(scores: Scores) -> list[Verdict]:
    """Friedman's test per dataset for the first claim, paired differences for the others."""
    lead = (scores.of(*HIGH) - scores.of(*LOW))[scores.on("COLLAB")]
    example = compare(lead, mixed=scores.mixed(HIGH, LOW, on=("COLLAB",)))
    same = np.array([first == second for first, second in scores.wanted])
    cube = scores.cube[scores.on(*ALIKE)]
    # Plain means, so that a seed that lacks a pair is NaN and takes no part.
    alike = compare(cube[:, same].mean(1) - cube[:, ~same].mean(1), mixed=scores.mixed(*scores.wanted, on=ALIKE))
    example, alike = corrected([example, alike])
    return [
        _varies(scores),
        greater(CLAIMS[1], example, "the first minus the second on COLLAB (in the paper 6.80)"),
        greater(CLAIMS[2], alike, "mean of identical pairs minus mean of the others (seeds that have all pairs)"),
    ]


def draw(scores: Scores) -> list[Picture]:
    """One 7 × 7 map per dataset."""
    mean, _ = mean_and_deviation(scores.cube)
    ranges = [f"{name} {np.nanmin(row):.1f} to {np.nanmax(row):.1f} %"
              for name, row in zip(scores.datasets, mean, strict=True) if np.isfinite(row).any()]  # fmt: skip
    letters = ", ".join(f"{short} {name}" for name, short in AUGMENTATIONS.items())
    return [
        Picture(
            key="pairs",
            title="Accuracy by pair of augmentations",
            description=f"Maps of seven by seven mean accuracies. {'; '.join(ranges) or 'Nothing is computed yet'}.",
            caption=f"Mean accuracy in % over seeds, p = {P:g}; the lighter, the higher within its map. {letters}. "
            f"{scores.extent}.",
            figure=plot_pairs(scores, mean),
        )
    ]


@rc_context(STYLE)
def plot_pairs(scores: Scores, mean: np.ndarray) -> Figure:
    """Rows are the first view, and columns the second one, to which the removal is applied."""
    figure, grid = panels(len(scores.datasets), width=3.05, height=3.2)
    names = list(AUGMENTATIONS.values())
    for number, (axes, dataset) in enumerate(zip(grid, scores.datasets, strict=True)):
        heat(axes, mean[number].reshape(len(names), len(names)), names)
        axes.set_title(f"{dataset} ({trials(scores.cube[number])})", fontsize=10)
        axes.set_xlabel("second view")
        axes.set_ylabel("first view")
        axes.tick_params(labelsize=9, length=0)
    heading(figure, scores, f"Accuracy in %, mean over seeds; augmentations at p = {P:g}; judge: {scores.protocol}")
    if np.isnan(mean).any():
        figure.legend(handles=[missing_patch()], loc="outside lower right", fontsize=10)
    return figure


def _view(name: str) -> list[dict[str, Any]]:
    return [{"name": name, "p": P}]


def _has_all_pairs(cube: np.ndarray) -> bool:
    return bool(np.isfinite(cube).any(1).all())


def _varies(scores: Scores) -> Verdict:
    whole = {name: cube for name, cube in zip(scores.datasets, scores.cube, strict=True) if _has_all_pairs(cube)}
    found = {name: spread(cube) for name, cube in whole.items()}
    there = {name: one for name, one in found.items() if one is not None}
    if not there:
        return no_data(CLAIMS[0], "no dataset has two seeds of all pairs")
    beyond = [p < LEVEL for p in holm([one.p for one in there.values()])]
    widths = [one.range for one in there.values()]
    outcome: ClaimOutcome = "inconclusive"
    if sum(beyond) > len(there) / 2:
        outcome = "confirmed"
    # That no difference was found is not enough to refute the claim; all must be negligible.
    elif max(widths) < MARGIN:
        outcome = "not confirmed"
    blocks = [one.n for one in there.values()]
    n = " to ".join(dict.fromkeys(str(n) for n in (min(blocks), max(blocks))))
    reach = " to ".join(dict.fromkeys(f"{width:.1f}" for width in (min(widths), max(widths))))
    sentence = (
        f"pairs differ beyond chance on {sum(beyond)} of {len(there)} datasets (Friedman's test, Holm over "
        f"{len(there)}, n = {n} seeds as blocks); best minus worst mean {reach} points"
    )
    numbers = {name: {"p": one.p, "range": one.range, "n": one.n} for name, one in there.items()}
    rule = Rule(
        "differences beyond chance on more than half of the datasets",
        f"a best mean less than {MARGIN:g} points above the worst on every dataset",
    )
    return Verdict(CLAIMS[0], outcome, sentence, numbers, rule)


ITEM = FigureItem(
    name="figure8",
    title="Figure 8: pairs of augmentations",
    note="Preset graphcl with the two views replaced; features: labels of nodes, else one-hot degree. "
    "PTC_MR stands in for REDDIT-MULTI-5K.",
    cost="1,960 cells: meant for a GPU; --quick: 147 cells, minutes on two cores",
    claims=CLAIMS,
    full=Extent(
        ("COLLAB", "DD", "IMDB-BINARY", "IMDB-MULTI", "NCI1", "PROTEINS", "REDDIT-BINARY", "PTC_MR"),
        5,
    ),
    small=Extent(("PTC_MR",), 3),
    judge=judge,
    draw=draw,
    axes=("first", "second"),
    levels=levels,
    protocols=(PROTOCOL, "svm"),
)
