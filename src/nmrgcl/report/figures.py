"""Plots of a run's numbers."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from nmrgcl.report.collect import Curve
from nmrgcl.report.svg import INK, PALETTE, STYLE, grid_lines, new_figure

LINES = ("--", ":", "-.")
MARKERS = "os^DvPX"
FEW = 12
"""Up to so many measurements are marked one by one."""
NOTHING = 1e-7
"""A singular value this small beside the largest is rounding: embeddings are computed in float32."""


@rc_context(STYLE)
def plot_spread(rows: Sequence[tuple[str, np.ndarray]]) -> Figure:
    """Each row's accuracies as a box, with every value on it."""
    figure, (axes,) = new_figure()
    for place, (_, values) in enumerate(rows):
        values = values.ravel()
        # Values are moved apart by turns of the golden ratio, the same way each time.
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
        axes.scatter(place + 0.4 * turns, values, s=16, color=PALETTE[place], alpha=0.75, linewidths=0, zorder=3)
    axes.set_xticks(range(len(rows)), [name for name, _ in rows])
    axes.set_xlim(-0.5, len(rows) - 0.5)
    axes.set_ylabel("accuracy in %")
    grid_lines(axes)
    return figure


@rc_context(STYLE)
def plot_curves(curves: Sequence[Curve], label: str) -> Figure:
    """Thin lines for the models, a thick one for the mean over the epochs that all of them have."""
    figure, (axes,) = new_figure()
    for number, curve in enumerate(curves):
        name = "each model" if number == 0 else None
        marker = "." if len(curve) <= FEW else ""
        axes.plot(list(curve), list(curve.values()), marker=marker, color=PALETTE[1], alpha=0.9, lw=0.9, label=name)
    common = sorted(set.intersection(*(set(curve) for curve in curves)))
    if len(curves) > 1 and common:
        mean = [np.mean([curve[epoch] for curve in curves]) for epoch in common]
        axes.plot(common, mean, color=PALETTE[0], linewidth=2.2, label="mean")
        axes.legend()
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("epoch")
    axes.set_ylabel(label)
    grid_lines(axes)
    return figure


@rc_context(STYLE)
def plot_spectra(spectra: Mapping[str, np.ndarray], *, height: float = 2.7, limit: float = 0.0) -> Figure:
    """Singular values beside the largest of their kind, on a log axis; rounding is left out.

    The last spectrum is drawn in full, the others broken; below ``limit`` a direction counts as empty.
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
    """Singular values as a share of the largest, as far as they are more than rounding."""
    return values[values > NOTHING * values[0]] / values[0] if values[0] > 0 else values[:0]


@rc_context(STYLE)
def plot_projection(z: np.ndarray, y: np.ndarray | None, names: Sequence[str]) -> Figure:
    """Embeddings ``[B, D]`` on their two principal axes, each class with a colour and a shape."""
    figure, (axes,) = new_figure(height=3.2)
    places, shares = project(z)
    groups = [("graphs", np.arange(len(z)))]
    if y is not None:
        groups = [(name, np.flatnonzero(y == code)) for code, name in enumerate(names)]
    for number, (name, rows) in enumerate(groups):
        colour, marker = PALETTE[number % len(PALETTE)], MARKERS[number % len(MARKERS)]
        x, height = places[rows].T
        axes.scatter(x, height, s=16, color=colour, marker=marker, alpha=0.85, linewidths=0, label=name)
    axes.set_xlabel(f"first principal axis ({shares[0]:.0%} of variance)")
    axes.set_ylabel(f"second ({shares[1]:.0%})")
    if y is not None:
        figure.legend(loc="outside upper left", ncols=4, handletextpad=0.1, columnspacing=1)
    return figure


def project(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``[B, 2]`` coordinates on the two principal axes, and each axis's share of the variance."""
    centred = z - z.mean(0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    places, shares = np.zeros((len(z), 2)), np.zeros(2)
    kept = min(2, len(s))
    places[:, :kept] = u[:, :kept] * s[:kept]
    if s[0] > 0:
        shares[:kept] = s[:kept] ** 2 / (s**2).sum()
    return places, shares
