"""Collect the data of a run for its report."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from sklearn.metrics import confusion_matrix

from nmrgcl import reading
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import apply_features
from nmrgcl.data.splits import split_nodes
from nmrgcl.diagnose.collapse import effective_rank, singular_spectrum
from nmrgcl.diagnose.verdict import CollapseVerdict, judge_collapse
from nmrgcl.errors import DataError
from nmrgcl.evaluate.linear import linear_predictions
from nmrgcl.evaluate.svm import svm_predictions
from nmrgcl.methods import build_untrained
from nmrgcl.model_folder import Model, load_model
from nmrgcl.report.accuracy import evaluate_or_read
from nmrgcl.run.embeddings import embed_all, embed_some
from nmrgcl.run.evaluation import Evaluation
from nmrgcl.run.model_folders import find_models
from nmrgcl.run.recipe import require_level

Curve = dict[int, float]
"""A measurement for each epoch."""

MAX_METRICS = 1 << 28
"""Maximum size of ``metrics.jsonl`` in bytes: enough for half a million epochs."""


@dataclass(frozen=True, eq=False)
class Facts:
    """The data shown on the page.

    Attributes:
        models: the models in order of their seeds; statements about a single model refer to the first one.
        evaluation: None if the models cannot be evaluated, for the reason in ``unjudged``.
        losses: one curve per model; empty if it was not trained or its metrics are missing.
        ranks: effective ranks, one curve per model; epoch 0 is the untrained encoder.
        before: ``[B, D]`` embeddings of graphs or nodes by the first model before training.
        after: its embeddings after training.
        spectra: singular values before and after training, largest first.
        rank_ends: effective rank before and after training.
        collapse: the verdict on ``after``; None for fewer than two rows.
        confusion: confusion matrices ``[K, K]`` of the first seed's test predictions, true by predicted class, for
            each name of embeddings; empty if the protocol does not record C.
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
    before: np.ndarray
    after: np.ndarray
    spectra: tuple[np.ndarray, np.ndarray]
    rank_ends: tuple[float, float]
    collapse: CollapseVerdict | None
    confusion: dict[str, np.ndarray]

    @property
    def things(self) -> str:
        """What is embedded: "graphs" or "nodes"."""
        return f"{self.models[0].settings.level}s"

    @cached_property
    def ids(self) -> Sequence[str] | None:
        """The user's ids of the graphs or nodes, if they have any."""
        return self.dataset.ids(self.models[0].settings.level)

    def id_of(self, row: int) -> str:
        """The id of a graph or node; if it has none, its number counted from 1, as in dataset files."""
        return str(row + 1) if self.ids is None else self.ids[row]

    @property
    def seeds(self) -> list[int]:
        """The seed of each model."""
        return [model.settings.seed for model in self.models]

    @property
    def y(self) -> np.ndarray | None:
        """``[B]`` class codes, with missing labels as an additional last class; None if there are no labels."""
        y = self.dataset.y
        return None if y is None or not self.dataset.classes else np.where(y < 0, len(self.dataset.classes), y)

    @property
    def class_names(self) -> list[str]:
        """The original labels as text, indexed by ``y``."""
        y = self.dataset.y
        missing = ["no label"] if y is not None and (y < 0).any() else []
        return [f"class {name}" for name in self.dataset.classes] + missing

    @property
    def embeddings(self) -> dict[str, np.ndarray]:
        """Untrained and trained embeddings by name; a single entry if the method is ``untrained``."""
        return {"untrained": self.before} | {self.models[0].settings.label: self.after}

    def class_of(self, row: int) -> str:
        """The name of the class of a row; empty if there are no labels."""
        return "" if self.y is None else self.class_names[int(self.y[row])]


def collect(run: Path, dataset: Dataset, *, device: torch.device, jobs: int = 0) -> Facts:
    """Collect all data; embeddings come first, so that unsuitable graphs are reported early."""
    folders = find_models(run)
    models = [load_model(folder) for folder in folders]
    first = models[0]
    if first.settings.level == "node":
        require_level(dataset, first.settings)
    graphs = apply_features(dataset, first.features).to(device)
    starts = [build_untrained(one.settings, one.features.width, one.features.edge_shape) for one in models]
    # The untrained encoder of the same seed, so that the two differ by training alone.
    before, after = (embed_all(method.to(device), graphs).cpu() for method in (starts[0], first.method))
    evaluation, unjudged = None, ""
    try:
        evaluation = evaluate_or_read(run, dataset, models, device=device, jobs=jobs)
    except DataError as error:
        unjudged = str(error)
    ranks = [read_curve(folder, "effective_rank") for folder in folders]
    for start, curve in zip(starts, ranks, strict=True):
        if curve:
            # Training records no epoch 0; the sample is the one that it measures ranks on.
            curve[0] = effective_rank(embed_some(start.to(device), graphs))
    return Facts(
        run=run,
        dataset=dataset,
        device=device,
        folders=folders,
        models=models,
        evaluation=evaluation,
        unjudged=unjudged,
        losses=[read_curve(folder, "loss") for folder in folders],
        ranks=[dict(sorted(curve.items())) for curve in ranks],
        before=before.double().numpy(),
        after=after.double().numpy(),
        spectra=(singular_spectrum(before).numpy(), singular_spectrum(after).numpy()),
        rank_ends=(effective_rank(before), effective_rank(after)),
        collapse=judge_collapse(after) if len(after) > 1 else None,
        confusion=_confusion(evaluation, dataset, before.numpy(), after.numpy()) if evaluation is not None else {},
    )


def _confusion(found: Evaluation, dataset: Dataset, before: np.ndarray, after: np.ndarray) -> dict[str, np.ndarray]:
    """Confusion matrices on the folds or split of the first seed, with the C that was chosen for each fold."""
    matrices = {}
    for name, z, scores in (("untrained", before, found.untrained), (found.method or "", after, found.trained)):
        if scores is None or scores.penalties is None or dataset.y is None:
            continue
        chosen, seed, rows = scores.penalties[0].tolist(), found.seeds[0], np.flatnonzero(dataset.y >= 0)
        if found.protocol == "linear":
            split = split_nodes(found.split, dataset.y, seed=seed, public=dataset.public_split)
            scaling, rows = found.settings.linear.normalise, split.test
            predicted = linear_predictions(z, dataset.y, split, c=chosen[0], scaling=scaling)
        else:
            scaled = found.settings.svm.standardise
            predicted = svm_predictions(z[rows], dataset.y[rows], seed=seed, penalties=chosen, standardise=scaled)
        matrices[name] = confusion_matrix(dataset.y[rows], predicted, labels=range(len(dataset.classes)))
    return matrices


def read_curve(folder: Path, key: str) -> Curve:
    """One measurement from ``metrics.jsonl``; lines that are damaged or lack it are skipped."""
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
