"""A figure of the measurements behind the claims."""

from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from nmrgcl.errors import writing
from nmrgcl.report.svg import INK, PALETTE, STYLE, grid_lines, new_figure, write_figure
from nmrgcl.reproduce.theory.findings import Findings

MARKERS = "os^D"


@rc_context(STYLE)
def plot_findings(found: Findings) -> Figure:
    """Theorem 1 and its bound, the error of Theorem 2 by imbalance, and the rank of products of several depths."""
    figure, (similarity, imbalance, ranks) = new_figure(width=11, height=3.4, columns=3)
    _similarity(similarity, found)
    _imbalance(imbalance, found)
    _ranks(ranks, found)
    for axes in (similarity, imbalance, ranks):
        grid_lines(axes)
    return figure


def save_figure(figure: Figure, out: Path) -> None:
    """Save the figure on a white background, in the format given by the suffix."""
    with writing(f"--plot {out}"):
        write_figure(figure, out, dpi=150, facecolor="white")


def _similarity(axes: Axes, found: Findings) -> None:
    cells = found.similarity
    features = max(c.features for c in cells)
    nodes = max(n for n in {c.nodes for c in cells} if n <= 100)
    drops = sorted({c.p for c in cells})
    bound = {c.p: c.bound for c in cells}
    axes.plot(drops, [bound[p] for p in drops], color=INK, linewidth=2.2, label="Theorem 1's bound")
    for number, q in enumerate(sorted({c.q for c in cells}, reverse=True)):
        row = sorted((c for c in cells if (c.nodes, c.features, c.q) == (nodes, features, q)), key=lambda c: c.p)
        axes.errorbar(
            [c.p for c in row],
            [c.mean for c in row],
            yerr=[3 * c.error for c in row],
            color=PALETTE[number],
            marker=MARKERS[number % len(MARKERS)],
            markersize=4,
            label=f"measured, q = {q:g}",
        )
    axes.set_title(f"Two views of a cycle, N = {nodes}, F = {features}", fontsize=9)
    axes.set_xlabel("share p of nodes dropped")
    axes.set_ylabel("mean cosine ± 3 standard errors")
    axes.legend(fontsize=8)


def _imbalance(axes: Axes, found: Findings) -> None:
    for number, (layers, curve) in enumerate(found.imbalance.items()):
        sizes, gaps = np.array([point for point in curve if point[0] > 0]).T
        axes.loglog(sizes, gaps, color=PALETTE[number], marker=MARKERS[number], markersize=4, label=f"{layers} factors")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
    axes.set_title("Theorem 2 off balance, same product", fontsize=9)
    axes.set_xlabel("size of the imbalance")
    axes.set_ylabel("relative error of σ̇")
    axes.legend(fontsize=8)


def _ranks(axes: Axes, found: Findings) -> None:
    for number, (layers, rows) in enumerate(found.ranks.items()):
        mean = np.mean(rows, axis=0)
        name = "1 factor" if layers == 1 else f"{layers} factors"
        axes.plot(np.arange(len(mean)), mean, "-" if number % 2 else "--", color=PALETTE[number], label=name)
    seeds = len(next(iter(found.ranks.values())))
    axes.set_title(f"Product of K weights, mean of {seeds} seeds", fontsize=9)
    axes.set_xlabel("steps of gradient descent")
    axes.set_ylabel("effective rank")
    axes.legend(fontsize=8)
