"""README's picture, from ``results/collapse/removal-*.json``: what the removal does to the rank of embeddings."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from nmrgcl.report.svg import INK, PALETTE, STYLE, Picture
from nmrgcl.reproduce.statistics import Comparison, compare


def rank_differences(folder: Path) -> dict[str, dict[str, Any]]:
    """Dataset → mean difference of effective rank, with and without removal, and its interval over seeds."""
    found = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("removal-*.json"))]
    ranks = {one["dataset"]: {d["measure"]: d for d in one["differences"]}["effective_rank"] for one in found}
    return dict(sorted(ranks.items(), key=lambda item: -item[1]["difference"]))


def mean_difference(ranks: dict[str, dict[str, Any]]) -> Comparison:
    """Over datasets, each of which counts once."""
    found = compare(np.array([[one["difference"] for one in ranks.values()]]), unit="", things="datasets")
    assert found is not None
    return found


def removal_picture(folder: Path) -> Picture:
    """A line for each dataset and one for their mean, all with 95 % intervals."""
    ranks = rank_differences(folder)
    overall = mean_difference(ranks)
    with rc_context(STYLE):
        figure = Figure(figsize=(7.5, 3.6), layout="constrained")
        axes = figure.subplots()
        for number, one in enumerate(ranks.values()):
            _interval(axes, -number, one["difference"], one["low"], one["high"], PALETTE[1])
        last = -len(ranks) - 0.3
        _interval(axes, last, overall.mean, overall.low, overall.high, PALETTE[0])
        axes.axvline(0, color=INK, linewidth=0.8)
        names = [f"{name} ({one['first']:.1f})" for name, one in ranks.items()]
        axes.set_yticks([*(-n for n in range(len(ranks))), last], [*names, "mean of the datasets"])
        axes.set_xlabel("effective rank of the embeddings, with removal minus without (95 % interval)")
        figure.patch.set_alpha(0)
    raised = sum(one["difference"] > 0 for one in ranks.values())
    return Picture(
        key="removal",
        title="Effective rank of embeddings, with removal minus without",
        description=f"Higher with removal on {raised} of {len(ranks)} datasets; mean {interval_text(overall)}.",
        caption="",
        figure=figure,
    )


def interval_text(found: Comparison) -> str:
    """A mean difference and its interval."""
    return f"{found.mean:+.2f} (95 % interval {found.low:+.2f} … {found.high:+.2f})".replace("-", "−")


def _interval(axes: Any, height: float, mean: float, low: float, high: float, colour: str) -> None:
    axes.plot([low, high], [height, height], color=colour, linewidth=2)
    axes.plot([mean], [height], "o", color=colour, markersize=6)
