"""The picture of docs/how-it-works.md: two views of a graph, and which dimensions Eq. 13 removes (``make readme``)."""

from typing import Any

import torch
from matplotlib import rc_context
from matplotlib.figure import Figure

from nmrgcl.contrast import cosine, non_maximum
from nmrgcl.contrast.removal import scale_rows
from nmrgcl.report.svg import INK, PALETTE, STYLE, Picture

Z1 = torch.tensor([[1.0, -0.4, 0.2, 1.6, -0.8, 0.5, 1.2, -0.1]])
Z2 = torch.tensor([[0.8, -0.2, 0.4, 1.4, -0.6, 0.1, 1.3, 0.3]])
"""Projections of the two views in the example."""
DELTA = 0.7
NODES = {0: (0.0, 1.0), 1: (-0.95, 0.3), 2: (-0.6, -0.8), 3: (0.6, -0.8), 4: (0.95, 0.3), 5: (0.0, 0.0)}
EDGES = ((0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (5, 1), (5, 3), (5, 4))
GHOST = "#b8bec6"
"""What a view or the removal has taken away."""


def how_it_works_picture() -> Picture:
    """Each row is a view; the dimensions that are prominent in the first are removed from the second."""
    removed = (non_maximum(Z1, DELTA)[0] == 0).tolist()
    before, after = example_cosines()
    with rc_context(STYLE):
        figure = Figure(figsize=(7.5, 4.4), layout="constrained")
        (graph1, bars1), (graph2, bars2) = figure.subplots(2, 2, width_ratios=(1, 2.6))
        _graph(graph1, "view 1: a node is dropped", dropped={2}, without=set())
        _graph(graph2, "view 2: edges are dropped", dropped=set(), without={(0, 1), (5, 3)})
        _bars(bars1, scale_rows(Z1)[0].tolist(), removed, PALETTE[0], filled=True)
        bars1.axhline(DELTA, color=INK, linewidth=0.8, linestyle="--")
        bars1.text(len(removed) + 0.55, DELTA + 0.02, f"δ = {DELTA}", va="bottom")
        bars1.set_title("view 1, scaled to 0 … 1: what exceeds δ is prominent", loc="left", fontsize=9)
        _bars(bars2, Z2[0].tolist(), removed, GHOST, filled=False)
        bars2.axhline(0, color=INK, linewidth=0.8)
        bars2.set_title("view 2: the same dimensions are removed", loc="left", fontsize=9)
        bars2.set_xlabel("dimension of the projection")
        figure.patch.set_alpha(0)
    numbers = ", ".join(str(number) for number, gone in enumerate(removed, 1) if gone)
    return Picture(
        key="how-it-works",
        title="Which dimensions the removal takes from the second view",
        description=f"Dimensions {numbers} of view 1 exceed {DELTA} after scaling and are removed from view 2; "
        f"the cosine of the pair is {before:.2f} before and {after:.2f} after.",
        caption="",
        figure=figure,
    )


def example_cosines() -> tuple[float, float]:
    """The cosine of the pair without and with removal."""
    return cosine(Z1, Z2).item(), cosine(Z1, Z2 * non_maximum(Z1, DELTA)).item()


def _bars(axes: Any, values: list[float], removed: list[bool], colour: str, *, filled: bool) -> None:
    for number, (value, gone) in enumerate(zip(values, removed, strict=True), 1):
        inside = colour if filled else "none"
        axes.bar(
            number,
            value,
            width=0.7,
            facecolor=inside if gone else PALETTE[1],
            edgecolor=colour if gone else PALETTE[1],
            linestyle="--" if gone and not filled else "-",
        )
    axes.set_xticks(range(1, len(values) + 1))
    axes.set_xlim(0.4, len(values) + 1.3)


def _graph(axes: Any, title: str, dropped: set[int], without: set[tuple[int, int]]) -> None:
    for edge in EDGES:
        gone = edge in without or not dropped.isdisjoint(edge)
        (x1, y1), (x2, y2) = (NODES[node] for node in edge)
        axes.plot(
            [x1, x2], [y1, y2], color=GHOST if gone else INK, linestyle=":" if gone else "-", linewidth=1, zorder=1
        )
    for node, (x, y) in NODES.items():
        gone = node in dropped
        axes.plot([x], [y], "o", markersize=9, color="none" if gone else PALETTE[1], zorder=2)
        if gone:
            axes.plot([x], [y], "o", markersize=9, markerfacecolor="#ffffff", markeredgecolor=GHOST, zorder=3)
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_xlim(-1.3, 1.3)
    axes.set_ylim(-1.1, 1.3)
    axes.set_title(title, fontsize=9)
