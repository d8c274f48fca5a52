"""The spectrum in docs/how-it-works.md: singular values of MUTAG's embeddings, untrained and trained (``make readme``).

python -m docs.draw_spectrum    # train 15 models (a few seconds), write results/collapse/spectrum-MUTAG.json
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib import rc_context
from matplotlib.figure import Figure

from nmrgcl import GraphEmbedder, effective_rank, singular_spectrum
from nmrgcl.report.svg import PALETTE, STYLE, Picture

FILE = Path(__file__).parents[1] / "results" / "collapse" / "spectrum-MUTAG.json"
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "untrained": ("untrained", {}),
    "trained without removal": ("nmrgcl", {"removal": "none"}),
    "trained with removal": ("nmrgcl", {}),
}
"""Method and settings of each line; everything else is that of preset graphcl."""
SEEDS = 5


def measured() -> dict[str, Any]:
    """Singular values and effective rank of every model."""
    found: dict[str, Any] = {"dataset": "MUTAG", "preset": "graphcl", "seeds": SEEDS, "rows": {}}
    for name, (method, settings) in ROWS.items():
        spectra, ranks = [], []
        for seed in range(SEEDS):
            embedder = GraphEmbedder(
                method, preset="graphcl", settings=settings, random_state=seed, normalise="none", device="cpu"
            )
            z = torch.from_numpy(embedder.fit_transform("MUTAG"))
            spectra.append([float(f"{value:.4g}") for value in singular_spectrum(z).tolist()])
            ranks.append(round(effective_rank(z), 2))
        found["rows"][name] = {"effective_rank": ranks, "spectra": spectra}
    return found


def mean_ranks(file: Path = FILE) -> dict[str, float]:
    """The mean effective rank of each line."""
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    return {name: float(np.mean(row["effective_rank"])) for name, row in rows.items()}


def spectrum_picture(file: Path = FILE) -> Picture:
    """Each singular value beside the largest, median and range over the seeds."""
    found, ranks = json.loads(file.read_text(encoding="utf-8")), mean_ranks(file)
    with rc_context(STYLE):
        figure = Figure(figsize=(7.5, 3.6), layout="constrained")
        axes = figure.subplots()
        for colour, (name, row) in zip((PALETTE[4], PALETTE[1], PALETTE[0]), found["rows"].items(), strict=True):
            spectra = np.array(row["spectra"])
            shares = spectra / spectra[:, :1]
            place = np.arange(1, shares.shape[1] + 1)
            axes.fill_between(place, shares.min(0), shares.max(0), color=colour, alpha=0.2, linewidth=0)
            label = f"{name}: effective rank {ranks[name]:.1f}"
            axes.plot(place, np.median(shares, 0), color=colour, linewidth=2, label=label)
        axes.set_yscale("log")
        axes.set_ylim(1e-5, 1.5)
        axes.set_xlim(0, shares.shape[1] + 1)
        axes.set_xlabel("direction, from the one with most variance to the one with least")
        axes.set_ylabel("singular value / largest")
        axes.legend()
        figure.patch.set_alpha(0)
    said = "; ".join(f"{name}: {rank:.1f}" for name, rank in ranks.items())
    return Picture(
        key="spectrum",
        title="Singular values of the embeddings of MUTAG, untrained and trained",
        description=f"Mean effective rank of {found['seeds']} models with {shares.shape[1]} dimensions: {said}.",
        caption="",
        figure=figure,
    )


if __name__ == "__main__":
    FILE.write_text(json.dumps(measured(), indent=1) + "\n", encoding="utf-8")
