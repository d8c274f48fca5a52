"""Figure 7: accuracy by the intensity p of three augmentations.

    nmrgcl reproduce figure7           # 4 datasets × 3 augmentations × 9 intensities × 5 seeds = 540 cells
    nmrgcl reproduce figure7 --quick   # PTC_MR and IMDB-BINARY, 2 seeds: 108 cells, minutes on two cores

The paper says that the best p is 0.1–0.3 for most datasets and that accuracy falls when p is too high. It does not name
its four datasets. Both views use the same augmentation.
"""

from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from nmrgcl.report.svg import INK, PALETTE, STYLE, Picture, grid_lines
from nmrgcl.reproduce.drawing import cross_gaps, curve, heading, missing_cross, panels, trials
from nmrgcl.reproduce.item import FigureItem
from nmrgcl.reproduce.plan import Extent
from nmrgcl.reproduce.scores import Scores
from nmrgcl.reproduce.statistics import compare, corrected
from nmrgcl.reproduce.verdict import Verdict, best_among, greater
from nmrgcl.settings import Settings

AUGMENTATIONS = ("NodeDrop", "EdgeDrop", "FeatureMasking")
INTENSITIES = tuple(number / 10 for number in range(1, 10))
MILD = [p <= 0.3 for p in INTENSITIES]
STRONG = [p >= 0.7 for p in INTENSITIES]
CLAIMS = (
    "the best probability is 0.1–0.3 for most datasets",
    *(f"accuracy falls when the probability of {name} is too high" for name in AUGMENTATIONS),
)


def levels(base: Settings) -> dict[tuple[Any, ...], Settings]:
    """Settings with one augmentation for both views, at every intensity."""
    found: dict[tuple[Any, ...], Settings] = {}
    for name in AUGMENTATIONS:
        for p in INTENSITIES:
            view = [{"name": name, "p": p}]
            found[name, p] = base.updated({"views.first": view, "views.second": view})
    return found


def judge(scores: Scores) -> list[Verdict]:
    """The position of the best p by resampling seeds; mild minus strong intensities paired by seed."""
    curves = _curves(scores)
    falls = [
        compare(own[:, MILD].mean(1) - own[:, STRONG].mean(1), mixed=scores.mixed(*((name, p) for p in INTENSITIES)))
        for name, own in zip(AUGMENTATIONS, np.moveaxis(curves, 1, 0), strict=True)
    ]
    what = "mean at p ≤ 0.3 minus mean at p ≥ 0.7"
    pairs = zip(CLAIMS[1:], corrected(falls), strict=True)
    return [_where(scores, curves), *(greater(claim, found, what) for claim, found in pairs)]


def draw(scores: Scores) -> list[Picture]:
    """Three curves per dataset."""
    best = _where(scores, _curves(scores)).sentence
    return [
        Picture(
            key="intensity",
            title="Accuracy by intensity of the augmentation",
            description=f"Three curves for each of {', '.join(scores.datasets)}. {best}.",
            caption="Mean accuracy over seeds, band: one standard deviation; shaded: where the paper finds the best p. "
            f"{scores.extent}.",
            figure=plot_intensity(scores),
        )
    ]


@rc_context(STYLE)
def plot_intensity(scores: Scores) -> Figure:
    """Datasets side by side, each on its own scale."""
    figure, grid = panels(len(scores.datasets), width=3.2, height=3.0)
    gaps = False
    for axes, dataset, own in zip(grid, scores.datasets, _curves(scores), strict=True):
        axes.axvspan(0.05, 0.35, color=INK, alpha=0.08, linewidth=0)
        for number, name in enumerate(AUGMENTATIONS):
            curve(axes, INTENSITIES, own[number], colour=PALETTE[number], marker="os^"[number], label=name)
            gaps |= cross_gaps(axes, INTENSITIES, own[number], colour=PALETTE[number], row=number)
        axes.set_title(f"{dataset} ({trials(own)})", fontsize=10)
        axes.set_xlabel("probability p")
        axes.set_ylabel("accuracy in %")
        axes.set_xticks(INTENSITIES[::2])
        grid_lines(axes)
    handles = grid[0].get_legend_handles_labels()[0] + ([missing_cross()] if gaps else [])
    figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=10)
    heading(figure, scores, f"Accuracy by intensity of the augmentation; judge: {scores.protocol}")
    return figure


def _curves(scores: Scores) -> np.ndarray:
    """Scores ``[datasets, augmentations, p, seeds]``."""
    shape = (len(scores.datasets), len(AUGMENTATIONS), len(INTENSITIES), scores.seeds)
    return scores.cube.reshape(shape)


def _where(scores: Scores, curves: np.ndarray) -> Verdict:
    names = [f"{dataset} {name}" for dataset in scores.datasets for name in AUGMENTATIONS]
    what = (
        "best mean at p: {best}; resampling n = {n} seeds, it is 0.1–0.3 for most of {count} pairs of dataset and "
        "augmentation"
    )
    return best_among(CLAIMS[0], curves.reshape(-1, len(INTENSITIES), scores.seeds), names, INTENSITIES, MILD, what)


ITEM = FigureItem(
    name="figure7",
    title="Figure 7: intensity of augmentations",
    note="Preset graphcl with both views replaced by one augmentation; features: labels of nodes, else one-hot degree. "
    "The paper does not name its four datasets; these are those of our figure 6.",
    cost="540 cells; --quick: 108 cells, minutes on two cores",
    claims=CLAIMS,
    full=Extent(("PROTEINS", "NCI1", "IMDB-BINARY", "IMDB-MULTI"), 5),
    small=Extent(("PTC_MR", "IMDB-BINARY"), 2),
    judge=judge,
    draw=draw,
    axes=("augmentation", "p"),
    levels=levels,
)
