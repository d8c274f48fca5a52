"""The accuracy of a run: read from ``RUN/evaluation.json`` if that applies, otherwise computed."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nmrgcl.data.dataset import Dataset
from nmrgcl.errors import ModelError
from nmrgcl.methods import Pretraining
from nmrgcl.model_folder import Model
from nmrgcl.run.evaluate import evaluate_run
from nmrgcl.run.evaluation import EVALUATION, Evaluation, SeedScores, read_evaluation, subject_of
from nmrgcl.run.model_folders import find_models


def evaluate_or_read(
    run: Path, dataset: Dataset, models: list[Model], *, device: torch.device, jobs: int
) -> Evaluation:
    """The evaluation of ``run`` on ``dataset``; raises DataError if the dataset has no suitable labels."""
    kept = read_stored(run, dataset, models) if dataset.y is not None else None
    return kept or evaluate_run(run, dataset, device=device, jobs=jobs)


def read_stored(run: Path, dataset: Dataset, models: list[Model]) -> Evaluation | None:
    """The stored evaluation in ``RUN/evaluation.json``; None if it is for another dataset or protocol.

    It is also None for files from versions that did not store the chosen C of each fold. Raises ModelError if the file
    was edited, or if its scores belong to other models or data.
    """
    subject = subject_of(find_models(run), dataset, models[0].features)
    values = read_evaluation(run, subject, dataset.name)
    first, varied = models[0], "model" if len(models) > 1 else "folds"
    facts: dict[str, Any] = {"varied": varied, "method": first.settings.label, "features": first.features.kind}
    expected = facts | {"protocol": "svm", "selection": "honest", "svm": asdict(first.settings.svm)}
    if values is None or any(values.get(key) != value for key, value in expected.items()):
        return None
    if "penalties" not in values:
        return None
    try:
        seeds = tuple(map(int, values["seeds"]))
        shape = len(models) if len(models) > 1 else len(seeds), first.settings.svm.folds
        trained = _scores(values, shape)
        start = _scores(values["untrained"], shape) if isinstance(first.method, Pretraining) else None
    except (KeyError, TypeError, ValueError, IndexError):
        raise ModelError(
            f"{run / EVALUATION}: its scores are not one per fold; run nmrgcl evaluate {run} DATA again"
        ) from None
    return Evaluation(dataset.name, trained, start, settings=first.settings, seeds=seeds, subject=subject, **facts)


def _scores(values: dict[str, Any], shape: tuple[int, int]) -> SeedScores:
    """The scores; raises ValueError unless each seed and fold has a finite score and, if recorded, a positive C."""
    given = [values["folds"]] if values["penalties"] is None else [values["folds"], values["penalties"]]
    folds, *penalties = (np.array(part, dtype=float) for part in given)
    if any(part.shape != shape or not np.isfinite(part).all() for part in (folds, *penalties)):
        raise ValueError
    if penalties and not (penalties[0] > 0).all():
        raise ValueError
    return SeedScores(folds, *penalties)
