"""A run's accuracy: as ``RUN/evaluation.json`` has it, if that fits, or else computed now."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nmrgcl.data.dataset import Dataset
from nmrgcl.errors import ModelError
from nmrgcl.model_folder import Model
from nmrgcl.run import EVALUATION, Evaluation, SeedScores, evaluate_run, find_models, read_evaluation, subject_of


def evaluate_or_read(
    run: Path, dataset: Dataset, models: list[Model], *, device: torch.device, jobs: int
) -> Evaluation:
    """The evaluation of ``run`` on ``dataset``; raises a DataError where there is nothing to judge against."""
    kept = read_stored(run, dataset, models) if dataset.y is not None else None
    return kept or evaluate_run(run, dataset, device=device, jobs=jobs)


def read_stored(run: Path, dataset: Dataset, models: list[Model]) -> Evaluation | None:
    """What ``evaluate`` wrote into ``RUN/evaluation.json``; None if that is another dataset, or judged another way.

    The file holds no folds of the untrained encoder, so that its scores are ``[seeds, 1]``. ModelError where the file
    was changed, or where its scores are those of other models or data.
    """
    subject = subject_of(find_models(run), dataset, models[0].features)
    values = read_evaluation(run, subject, dataset.name)
    first, varied = models[0], "model" if len(models) > 1 else "folds"
    facts: dict[str, Any] = {"varied": varied, "method": first.settings.label, "features": first.features.kind}
    expected = facts | {"protocol": "svm", "selection": "honest", "svm": asdict(first.settings.svm)}
    if values is None or any(values.get(key) != value for key, value in expected.items()):
        return None
    try:
        folds = np.array(values["folds"], dtype=float)
        untrained = np.array(values["untrained"]["scores"], dtype=float)[:, None]
        seeds = tuple(map(int, values["seeds"]))
        shapes = (len(seeds), first.settings.svm.folds), (len(seeds), 1)
        finite = np.isfinite(folds).all() and np.isfinite(untrained).all()
        if (folds.shape, untrained.shape) != shapes or not finite or (len(models) > 1 and len(seeds) != len(models)):
            raise ValueError
    except (KeyError, TypeError, ValueError, IndexError):
        raise ModelError(
            f"{run / EVALUATION}: its scores are not one per fold; run nmrgcl evaluate {run} DATA again"
        ) from None
    trained, start = SeedScores(folds), SeedScores(untrained)
    return Evaluation(dataset.name, trained, start, settings=first.settings, seeds=seeds, subject=subject, **facts)
