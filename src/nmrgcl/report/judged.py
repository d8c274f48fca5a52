"""Curves and numbers that show how good predictions are, computed from arrays."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from nmrgcl.report.svg import INK, PALETTE, STYLE, new_figure

BINS = 10
"""The number of equally wide bins of probabilities."""
SIMILARITIES = np.array([0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0])
"""Boundaries of the bins of similarity to the training set; the last bin includes 1."""


def reliability(probability: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean probability, share of positives and number of labels of each non-empty bin, ``[K]`` each."""
    known = ~np.isnan(labels)
    p, y = probability[known], labels[known]
    # A probability of exactly 1 belongs to the last bin.
    place = np.minimum((p * BINS).astype(int), BINS - 1)
    count = np.bincount(place, minlength=BINS)
    kept = count > 0
    sums = (np.bincount(place, weights=values, minlength=BINS)[kept] for values in (p, y))
    mean, share = (total / count[kept] for total in sums)
    return mean, share, count[kept]


def calibration_error(probability: np.ndarray, labels: np.ndarray) -> float:
    """The expected calibration error: the mean over bins, weighted by size, of |share − mean probability|."""
    mean, share, count = reliability(probability, labels)
    return float(np.abs(mean - share) @ count / count.sum())


def by_similarity(values: np.ndarray, similarity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each bin of ``SIMILARITIES``, the number of molecules and the mean of their ``values`` ``[M, T]``, or NaN."""
    place = np.clip(np.searchsorted(SIMILARITIES, similarity, side="right") - 1, 0, len(SIMILARITIES) - 2)
    groups = [values[place == number] for number in range(len(SIMILARITIES) - 1)]
    means = [float(np.nanmean(group)) if np.isfinite(group).any() else np.nan for group in groups]
    return np.array([len(group) for group in groups]), np.array(means)


@rc_context(STYLE)
def plot_roc(curves: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> Figure:
    """ROC curves; the diagonal is chance."""
    figure, (axes,) = new_figure(height=3.2)
    for (name, (false, true)), colour in zip(curves.items(), PALETTE, strict=False):
        axes.plot(false, true, color=colour, linewidth=1.8, label=name)
    axes.plot([0, 1], [0, 1], "--", color=INK, linewidth=0.8)
    axes.set_xlabel("false positive rate")
    axes.set_ylabel("true positive rate")
    axes.legend()
    return figure


@rc_context(STYLE)
def plot_calibration(curves: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> Figure:
    """Share of positives over mean probability; the diagonal is perfect calibration."""
    figure, (axes,) = new_figure(height=3.2)
    for (name, (mean, share)), colour, marker in zip(curves.items(), (PALETTE[1], PALETTE[0]), "so", strict=False):
        axes.plot(mean, share, color=colour, marker=marker, markersize=5, linewidth=1.5, label=name)
    axes.plot([0, 1], [0, 1], "--", color=INK, linewidth=0.8)
    axes.set_xlabel("mean predicted probability")
    axes.set_ylabel("share of positives")
    axes.legend()
    return figure


@rc_context(STYLE)
def plot_numbers(truth: np.ndarray, predicted: np.ndarray, names: Sequence[str]) -> Figure:
    """Predicted over true values of each task; on the diagonal they are equal."""
    figure, (axes,) = new_figure(height=3.2)
    for task, name in enumerate(names[: len(PALETTE)]):
        axes.scatter(truth[:, task], predicted[:, task], s=14, color=PALETTE[task], alpha=0.7, linewidths=0, label=name)
    ends = [np.nanmin(truth[:, : len(PALETTE)]), np.nanmax(truth[:, : len(PALETTE)])]
    axes.plot(ends, ends, "--", color=INK, linewidth=0.8)
    axes.set_xlabel("label")
    axes.set_ylabel("prediction")
    axes.legend()
    return figure


@rc_context(STYLE)
def plot_similarity(counts: np.ndarray, scores: np.ndarray, label: str) -> Figure:
    """The number of molecules by similarity to the training set as bars, and their score as a line on a second axis."""
    figure, (axes,) = new_figure()
    middle, width = (SIMILARITIES[1:] + SIMILARITIES[:-1]) / 2, np.diff(SIMILARITIES)
    axes.bar(middle, counts, width=0.9 * width, color=PALETTE[5])
    axes.set_xlabel("similarity to the nearest training molecule")
    axes.set_ylabel("test molecules")
    other = axes.twinx()
    shown = ~np.isnan(scores)
    other.plot(middle[shown], scores[shown], color=PALETTE[0], marker="o", markersize=5)
    other.set_ylabel(label)
    other.spines["right"].set_visible(True)
    return figure
