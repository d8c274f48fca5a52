"""A plot of time and memory over the number of graphs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.ticker import NullFormatter

from bench.scale import Point
from nmrgcl.errors import SettingError
from nmrgcl.report.svg import PALETTE, STYLE, new_figure, write_figure

SUFFIXES = (".svg", ".png", ".pdf")


def check_plot(path: Path) -> None:
    """Refuse a path that cannot be written, before anything is measured."""
    if path.suffix not in SUFFIXES:
        raise SettingError(f"{path}: --plot writes {', '.join(SUFFIXES)}; choose such a suffix")
    if not path.parent.is_dir():
        raise SettingError(f"{path}: there is no folder {path.parent}; make it, or choose another --plot")


@rc_context(STYLE)
def plot_scale(points: Sequence[Point], path: Path) -> None:
    """Both axes are logarithmic, so that linear growth is parallel to the dotted lines."""
    figure, (times, bytes_held) = new_figure(width=7.5, height=3.0, columns=2)
    for number, kind in enumerate(sorted({point.kind for point in points}, reverse=True)):
        chosen = [point for point in points if point.kind == kind]
        graphs = [point.graphs for point in chosen]
        look: dict[str, Any] = {"color": PALETTE[number], "marker": "o", "markersize": 3}
        times.plot(graphs, [float(np.median(point.seconds)) for point in chosen], label=kind, **look)
        if any(point.device_bytes for point in chosen):
            bytes_held.plot(graphs, [p.device_bytes / 1e9 for p in chosen], label=f"{kind}, device", **look)
        bytes_held.plot(
            graphs, [max(p.host_bytes, 1) / 1e9 for p in chosen], label=f"{kind}, host", linestyle="--", **look
        )
    most = max(points, key=lambda point: point.graphs)
    linear = np.array([min(point.graphs for point in points), most.graphs])
    times.plot(linear, linear / most.graphs * float(np.median(most.seconds)), ":", color="grey", label="linear")
    for axes, label in ((times, "seconds an epoch"), (bytes_held, "GB at the peak")):
        axes.set(xscale="log", yscale="log", xlabel="graphs", ylabel=label)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter("{x:,.9g}")  # Plain numbers, because STYLE disables mathematical text.
            axis.set_minor_formatter(NullFormatter())
        axes.legend(fontsize=7)
    write_figure(figure, path, dpi=150, facecolor="white")
