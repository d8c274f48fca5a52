"""The three patterns of collapse, planted and trained, with their spectra."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from nmrgcl.report.svg import INK, PALETTE, STYLE, grid_lines
from nmrgcl.reproduce.drawing import heading
from nmrgcl.reproduce.scores import Row, Scores

REACH = 0.75
"""Half the width of the axes, in units of the length of an embedding."""
LATE = 24
"""The principal axis, out of 32, that shows whether later ones are used."""
FLOOR = 1e-6
"""The lower end of the axis of spectra."""
LINES = ("-", "--", ":", "-.", (0, (1, 4)))


@rc_context(STYLE)
def plot_patterns(scores: Scores, planted: Sequence[Row], trained: Mapping[str, Row], dataset: str) -> Figure:
    """Three columns for complete, dimensional and no collapse."""
    figure = Figure(figsize=(10.5, 9.6), layout="constrained")
    figure.patch.set_alpha(0)
    axes = figure.subplot_mosaic([["p0", "p1", "p2"], ["t0", "t1", "t2"], ["planted", "trained", "trained"]])
    for number, row in enumerate(planted):
        _cloud(axes[f"p{number}"], row, f"planted: {row['name']}", PALETTE[number])
    for number, (name, row) in enumerate(list(trained.items())[: len(planted)]):
        _cloud(axes[f"t{number}"], row, f"{name}: {row['kind']}", PALETTE[number])
    _spectra(axes["planted"], {row["name"]: row for row in planted}, "Spectra, planted")
    axes["planted"].legend(fontsize=9, loc="center right")
    ranked = {f"{name}, rank {row['rank']:.1f}": row for name, row in trained.items()}
    _spectra(axes["trained"], ranked, f"Spectra, trained on {dataset}")
    axes["trained"].legend(fontsize=9, loc="lower left")
    heading(figure, scores, "Complete, dimensional and no collapse")
    return figure


def _cloud(axes: Axes, row: Row, title: str, colour: str) -> None:
    x, y = np.array(row["points"]).T
    axes.patch.set_alpha(0)
    axes.scatter(x, y, s=9, color=colour, alpha=0.6, linewidths=0)
    axes.set_xlim(-REACH, REACH)
    axes.set_ylim(-REACH, REACH)
    axes.set_aspect("equal")
    axes.set_xticks([-0.5, 0, 0.5])
    axes.set_yticks([-0.5, 0, 0.5])
    axes.set_title(f"{title} (n = {row['n']})", fontsize=10)
    axes.set_xlabel("first principal axis")
    axes.set_ylabel(f"{LATE}th of 32")
    grid_lines(axes)


def _spectra(axes: Axes, rows: Mapping[str, Row], title: str) -> None:
    axes.patch.set_alpha(0)
    for number, (name, row) in enumerate(rows.items()):
        values = np.maximum(np.array(row["spectrum"]), FLOOR / 10)
        directions = np.arange(1, len(values) + 1)
        axes.plot(directions, values, color=PALETTE[number], linestyle=LINES[number], linewidth=2, label=name)
    axes.set_yscale("log")
    axes.set_ylim(FLOOR, 1)
    axes.set_yticks([1e-6, 1e-4, 1e-2, 1], ["0.000001", "0.0001", "0.01", "1"])
    axes.minorticks_off()
    axes.axhline(1 / 32**0.5, color=INK, alpha=0.4, linewidth=0.8)
    axes.set_title(title, fontsize=10)
    axes.set_xlabel("direction, largest first (thin line: all alike)")
    axes.set_ylabel("spread / length")
    grid_lines(axes)
