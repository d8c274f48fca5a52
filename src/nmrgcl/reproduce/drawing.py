"""Panels for several datasets side by side, with missing cells shown as such."""

from collections.abc import Sequence
from textwrap import wrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from nmrgcl.report.svg import new_figure
from nmrgcl.reproduce.scores import Scores

COLOURS = "cividis"
"""The colour map of heat maps: lighter is higher, and it is safe for colour-blind readers."""
GAP = "#8c959f"
MISSING = "not computed"
ACROSS = 4
LETTERS = 11
"""The number of characters of a heading per inch."""


def panels(count: int, *, width: float, height: float, across: int = ACROSS) -> tuple[Figure, list[Axes]]:
    """``count`` axes in rows of up to ``across``, on a transparent background; use it inside ``rc_context(STYLE)``."""
    columns = min(count, across)
    rows = -(-count // columns)
    figure, grid = new_figure(max(width * columns, 4.2), height * rows + 0.6, columns, rows)
    for axes in grid[count:]:
        axes.set_axis_off()
    return figure, grid[:count]


def heading(figure: Figure, scores: Scores, text: str) -> None:
    """Put ``text`` above the panels; in a quick version, the heading says so."""
    mark = "QUICK VERSION, not the paper's extent. " if scores.quick else ""
    lines = wrap(f"{mark}{text}", int(LETTERS * figure.get_figwidth()))
    figure.suptitle("\n".join(lines), fontsize=10, fontweight="bold" if mark else "normal")


def trials(scores: np.ndarray) -> str:
    """The number of seeds, such as ``n = 5`` or a range, and the number of cells without any."""
    counts = np.isfinite(scores).sum(-1)
    there = counts[counts > 0]
    if not len(there):
        return "nothing computed"
    low, high, none = int(there.min()), int(there.max()), int((counts == 0).sum())
    return f"n = {low if low == high else f'{low}–{high}'}" + (f", {none} missing" if none else "")


def heat(axes: Axes, values: np.ndarray, names: Sequence[str]) -> None:
    """A heat map of means ``[rows, columns]`` with their numbers; NaN is hatched."""
    there = np.isfinite(values)
    if there.any():
        axes.imshow(np.ma.masked_invalid(values), cmap=COLOURS, interpolation="nearest")
    low, high = (np.nanmin(values), np.nanmax(values)) if there.any() else (0.0, 1.0)
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            light = value - low > 0.55 * (high - low)
            ink = "#000000" if light else "#ffffff"
            axes.text(column, row, f"{value:.1f}", ha="center", va="center", color=ink, fontsize=9)
        else:
            axes.add_patch(hatched((column - 0.5, row - 0.5), 1, 1))
    axes.set_xlim(-0.5, values.shape[1] - 0.5)
    axes.set_ylim(values.shape[0] - 0.5, -0.5)
    axes.set_aspect("equal")
    axes.set_xticks(range(values.shape[1]), names)
    axes.set_yticks(range(values.shape[0]), names)


def hatched(corner: tuple[float, float], width: float, height: float) -> Rectangle:
    """A hatched rectangle, which marks missing cells."""
    return Rectangle(corner, width, height, facecolor="none", edgecolor=GAP, hatch="////", linewidth=0.5)


def missing_patch() -> Patch:
    """The legend entry for hatched cells."""
    return Patch(facecolor="none", edgecolor=GAP, hatch="////", label=MISSING)


def curve(axes: Axes, x: Sequence[float], scores: np.ndarray, *, colour: str, marker: str, label: str) -> None:
    """The mean over seeds of ``[levels, seeds]`` with a band of one standard deviation; gaps interrupt the line."""
    mean, deviation = mean_and_deviation(scores)
    axes.fill_between(x, mean - deviation, mean + deviation, color=colour, alpha=0.18, linewidth=0)
    axes.plot(x, mean, color=colour, marker=marker, markersize=5, linewidth=1.8, label=label)


def hatch_gaps(axes: Axes, x: Sequence[float], scores: np.ndarray, step: float) -> bool:
    """Hatch the levels of ``[levels, seeds]`` without any seed; return True if there are any."""
    gaps = ~np.isfinite(scores).any(-1)
    bottom, top = axes.get_ylim()
    for place in np.asarray(x)[gaps]:
        axes.add_patch(hatched((place - step / 2, bottom), step, top - bottom))
    axes.set_ylim(bottom, top)
    return bool(gaps.any())


def cross_gaps(axes: Axes, x: Sequence[float], scores: np.ndarray, *, colour: str, row: int) -> bool:
    """Mark the gaps of one of several curves by crosses of its colour at the bottom; return True if there are any."""
    gaps = ~np.isfinite(scores).any(-1)
    places = np.asarray(x)[gaps]
    height = np.full(len(places), 0.03 + 0.05 * row)
    axes.plot(places, height, "x", color=colour, markersize=6, transform=axes.get_xaxis_transform())
    return bool(gaps.any())


def missing_cross() -> Line2D:
    """The legend entry for crosses."""
    return Line2D([], [], color=GAP, marker="x", linestyle="", label=MISSING)


def mean_and_deviation(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation over the available seeds (last axis): 0 for one seed, and NaN means without any."""
    count = np.isfinite(scores).sum(-1)
    total = np.nansum(scores, -1)
    mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    square = np.nansum((scores - mean[..., None]) ** 2, -1)
    return mean, np.where(count > 0, np.sqrt(square / np.maximum(count - 1, 1)), np.nan)
