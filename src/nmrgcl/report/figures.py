"""Plots of the numbers of a run."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from nmrgcl.diagnose.spectrum import ROUNDING
from nmrgcl.report.collect import Curve
from nmrgcl.report.svg import INK, PALETTE, STYLE, TRAINED, UNTRAINED, grid_lines, new_figure

LINES = ("--", ":", "-.")
MARKERS = "os^DvPX"
FEW = 12
"""Curves with at most this many points have a marker on each."""
MAP_WIDTH, MAP_HEIGHT = 4.4, 3.4
"""Size of a map in inches, without its legend."""
LONGEST_NAME = 40
"""Maximum length of a class name in a legend."""


@rc_context(STYLE)
def plot_spread(rows: Sequence[tuple[str, np.ndarray]], *, largest: float) -> Figure:
    """Box plots of the accuracies of each row with all values, and a line at the share of the largest class."""
    figure, (axes,) = new_figure()
    for place, (name, values) in enumerate(rows):
        values = values.ravel()
        # Jitter by multiples of the golden ratio, which is reproducible and spreads the points evenly.
        turns = (np.arange(len(values)) * 0.618034) % 1 - 0.5
        lines = {"color": INK}
        median = {"color": INK, "linewidth": 2}
        axes.boxplot(
            values,
            positions=[place],
            widths=0.5,
            showfliers=False,
            boxprops=lines,
            whiskerprops=lines,
            capprops=lines,
            medianprops=median,
        )
        colour = UNTRAINED if name == "untrained" else TRAINED
        axes.scatter(place + 0.4 * turns, values, s=16, color=colour, alpha=0.75, linewidths=0, zorder=3)
    axes.axhline(largest, color=INK, linewidth=1, linestyle="--", label="largest class")
    figure.legend(loc="outside upper right", fontsize=8)
    axes.set_xticks(range(len(rows)), [name for name, _ in rows])
    axes.set_xlim(-0.5, len(rows) - 0.5)
    axes.set_ylabel("accuracy in %")
    grid_lines(axes)
    return figure


@rc_context(STYLE)
def plot_curves(curves: Sequence[Curve], label: str) -> Figure:
    """Thin lines for the models, and a thick one for their mean over the epochs that all of them have.

    If there is an epoch 0, its mean is shown as a horizontal line for the untrained encoder.
    """
    figure, (axes,) = new_figure()
    one: Any = {"label": "trained", "lw": 2}
    several: Any = {"label": "each model", "lw": 0.9, "alpha": 0.7}
    for number, curve in enumerate(curves):
        style = (one if len(curves) == 1 else several) | ({"label": None} if number else {})
        marker = "." if len(curve) <= FEW else ""
        axes.plot(list(curve), list(curve.values()), marker=marker, color=TRAINED, **style)
    # A mean over other models at each epoch would have steps that no model has.
    common = sorted(set.intersection(*(set(curve) for curve in curves)))
    mean = [float(np.mean([curve[epoch] for curve in curves])) for epoch in common]
    if len(curves) > 1 and common:
        axes.plot(common, mean, color=TRAINED, linewidth=2.4, label="mean")
    if common and common[0] == 0:
        axes.axhline(mean[0], color=UNTRAINED, linewidth=1.6, linestyle="--", label="untrained")
    if len(axes.lines) > 1:
        axes.legend(fontsize=8)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("epoch")
    axes.set_ylabel(label)
    grid_lines(axes)
    return figure


@rc_context(STYLE)
def plot_spectra(spectra: Mapping[str, np.ndarray], *, height: float = 2.7, limit: float = 0.0) -> Figure:
    """Singular values relative to the largest of each spectrum on a log axis, without rounding errors.

    The last spectrum is a solid line, the others are dashed; below ``limit``, a direction counts as empty.
    """
    figure, (axes,) = new_figure(height=height)
    for number, (name, values) in enumerate(reversed(list(spectra.items()))):
        share = used_spectrum(values)
        line = LINES[(number - 1) % len(LINES)] if number else "-"
        colour = PALETTE[number if number < len(PALETTE) else 1 + number % (len(PALETTE) - 1)]
        axes.plot(np.arange(1, len(share) + 1), share, line, color=colour, lw=1.4 if number else 2.2, label=name)
    if limit:
        axes.axhline(limit, color=INK, alpha=0.5, linewidth=0.8)
        axes.annotate("below: empty", (1, limit), (3, -10), textcoords="offset points", fontsize=8)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("direction, largest first")
    axes.set_ylabel("singular value / largest")
    axes.legend(fontsize=8)
    grid_lines(axes)
    return figure


def used_spectrum(values: np.ndarray) -> np.ndarray:
    """Singular values relative to the largest, without those that are rounding errors."""
    return values[values > ROUNDING * values[0]] / values[0] if values[0] > 0 else values[:0]


@rc_context(STYLE)
def plot_projection(z: np.ndarray, y: np.ndarray | None, names: Sequence[str]) -> Figure:
    """Embeddings ``[B, D]`` on their two principal axes, with a colour and a marker for each class.

    The markers of class k have the gid ``points-k``; without classes, all have ``points-0``. The figure grows with the
    number of lines of its legend.
    """
    shown = [shorten(name, LONGEST_NAME) for name in names]
    columns = max(1, int(MAP_WIDTH / (0.35 + 0.085 * max(map(len, shown), default=0))))
    lines = -(-len(shown) // columns) if y is not None else 0
    figure, (axes,) = new_figure(MAP_WIDTH, MAP_HEIGHT + 0.2 * lines)
    places, shares = project(z)
    groups = [("", np.arange(len(z)))]
    if y is not None:
        groups = [(name, np.flatnonzero(y == code)) for code, name in enumerate(shown)]
    for number, (name, rows) in enumerate(groups):
        colour, marker = PALETTE[number % len(PALETTE)], MARKERS[number % len(MARKERS)]
        mark: Any = {"s": 20, "color": colour, "marker": marker, "alpha": 0.85, "linewidths": 0}
        axes.scatter(*places[rows].T, **mark, label=name, gid=f"points-{number}")
    axes.set_xlabel(f"first principal axis ({shares[0]:.0%} of variance)")
    axes.set_ylabel(f"second ({shares[1]:.0%})")
    if y is not None:
        figure.legend(loc="outside upper left", ncols=columns, handletextpad=0.1, columnspacing=1, borderaxespad=0)
    return figure


def shorten(name: str, most: int) -> str:
    """A name of at most ``most`` characters."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def project(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates ``[B, 2]`` on the first two principal axes, and the share of the variance of each axis."""
    centred = z - z.mean(0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    places, shares = np.zeros((len(z), 2)), np.zeros(2)
    kept = min(2, len(s))
    places[:, :kept] = u[:, :kept] * s[:kept]
    if s[0] > 0:
        shares[:kept] = s[:kept] ** 2 / (s**2).sum()
    return places, shares
