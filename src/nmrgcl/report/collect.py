"""The facts of a run as plain data, before anything is drawn."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from nmrgcl import reading
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import apply_features
from nmrgcl.diagnose.collapse import effective_rank, singular_spectrum
from nmrgcl.errors import DataError
from nmrgcl.methods import build_untrained
from nmrgcl.model_folder import Model, load_model
from nmrgcl.report.accuracy import evaluate_or_read
from nmrgcl.run import Evaluation, embed_all, find_models, require_level

Curve = dict[int, float]
"""A measurement by epoch."""

MAX_METRICS = 1 << 28
"""Bytes of ``metrics.jsonl``: half a million epochs."""


@dataclass(frozen=True, eq=False)
class Facts:
    """What the page shows.

    Attributes:
        models: in order of their seeds; what is said of one model is said of the first.
        evaluation: None where there is nothing to judge against, for the reason in ``unjudged``.
        losses: one curve per model; empty if it was not trained or the record is gone.
        ranks: likewise.
        after: ``[B, D]`` embeddings of graphs or nodes by the first model.
        spectra: singular values before and after training, largest first.
        rank_ends: effective rank before and after training.
    """

    run: Path
    dataset: Dataset
    device: torch.device
    folders: list[Path]
    models: list[Model]
    evaluation: Evaluation | None
    unjudged: str
    losses: list[Curve]
    ranks: list[Curve]
    after: np.ndarray
    spectra: tuple[np.ndarray, np.ndarray]
    rank_ends: tuple[float, float]

    @property
    def things(self) -> str:
        """What is embedded, in the plural."""
        return f"{self.models[0].settings.level}s"

    @property
    def seeds(self) -> list[int]:
        """The seed of each model."""
        return [model.settings.seed for model in self.models]

    @property
    def y(self) -> np.ndarray | None:
        """``[B]`` class codes, those without a label counted as a class of their own, the last; None without labels."""
        y = self.dataset.y
        return None if y is None or not self.dataset.classes else np.where(y < 0, len(self.dataset.classes), y)

    @property
    def class_names(self) -> list[str]:
        """The original labels as text; ``y`` counts into them."""
        y = self.dataset.y
        missing = ["no label"] if y is not None and (y < 0).any() else []
        return [f"class {name}" for name in self.dataset.classes] + missing


def collect(run: Path, dataset: Dataset, *, device: torch.device, jobs: int = 0) -> Facts:
    """Everything measured: embeddings first, since graphs that do not fit the model end it there."""
    folders = find_models(run)
    models = [load_model(folder) for folder in folders]
    first = models[0]
    if first.settings.level == "node":
        require_level(dataset, first.settings)
    graphs = apply_features(dataset, first.features).to(device)
    start = build_untrained(first.settings, first.features.width, first.features.edge_shape)
    before, after = (embed_all(method.to(device), graphs).cpu() for method in (start, first.method))
    evaluation, unjudged = None, ""
    try:
        evaluation = evaluate_or_read(run, dataset, models, device=device, jobs=jobs)
    except DataError as error:
        unjudged = str(error)
    return Facts(
        run=run,
        dataset=dataset,
        device=device,
        folders=folders,
        models=models,
        evaluation=evaluation,
        unjudged=unjudged,
        losses=[read_curve(folder, "loss") for folder in folders],
        ranks=[read_curve(folder, "effective_rank") for folder in folders],
        after=after.double().numpy(),
        spectra=(singular_spectrum(before).numpy(), singular_spectrum(after).numpy()),
        rank_ends=(effective_rank(before), effective_rank(after)),
    )


def read_curve(folder: Path, key: str) -> Curve:
    """One measurement from ``metrics.jsonl``; lines that are damaged or lack it are passed over."""
    try:
        lines = reading.read_text(folder / "metrics.jsonl", MAX_METRICS).splitlines()
    except (OSError, ValueError):
        return {}
    curve = {}
    for line in lines:
        try:
            record = json.loads(line)
            curve[int(record["epoch"])] = float(record[key])
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
    return curve
