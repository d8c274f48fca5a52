"""README's picture, from ``results/figure1.json``: the spectrum of embeddings trained with and without removal."""

from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from nmrgcl.report.svg import PALETTE, STYLE, Picture
from nmrgcl.reproduce import find_item
from nmrgcl.reproduce.compact import read_compact
from nmrgcl.reproduce.scores import Row

NAMES = {"contrastive": "without removal", "nmrGCL": "with removal"}


def spectrum_picture(file: Path) -> Picture:
    """A panel for each dataset; effective ranks are means over seeds, curves those of the first."""
    _, rows = read_compact(file, find_item("figure1"))
    trained = [row for row in rows if row["name"] in NAMES]
    datasets = list(dict.fromkeys(row["dataset"] for row in trained))
    with rc_context(STYLE):
        figure = Figure(figsize=(9, 2.7), layout="constrained")
        for axes, dataset in zip(figure.subplots(1, len(datasets), sharey=True), datasets, strict=True):
            for number, name in enumerate(NAMES):
                curve = next(
                    r["spectrum"] for r in trained if (r["dataset"], r["name"], r["seed"]) == (dataset, name, 0)
                )
                axes.plot(np.arange(1, len(curve) + 1), curve, color=PALETTE[number], linewidth=2, label=NAMES[name])
            axes.set_yscale("log")
            axes.set_yticks([1e-4, 1e-3, 1e-2, 1e-1], ["0.0001", "0.001", "0.01", "0.1"])
            axes.minorticks_off()
            axes.set_title(dataset)
            axes.set_xlabel("direction, largest first")
        figure.axes[0].set_ylabel("singular value")
        figure.axes[0].legend(loc="lower left")
    ranks = [
        f"{dataset} {_rank(trained, dataset, 'contrastive')} and {_rank(trained, dataset, 'nmrGCL')}"
        for dataset in datasets
    ]
    return Picture(
        key="spectrum",
        title="Singular spectrum of the projections, with and without removal",
        description=f"Effective rank of the embeddings without and with removal: {', '.join(ranks)}.",
        caption="",
        figure=figure,
    )


def _rank(rows: list[Row], dataset: str, name: str) -> str:
    return f"{np.mean([row['embedding_rank'] for row in rows if (row['dataset'], row['name']) == (dataset, name)]):.1f}"
