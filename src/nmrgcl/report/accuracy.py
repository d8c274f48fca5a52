"""A run's accuracy: as ``RUN/evaluation.json`` has it, if that fits, or else judged now."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nmrgcl.data.dataset import Dataset
from nmrgcl.model_folder import Model
from nmrgcl.run import EVALUATION, Judgement, Scores, evaluate_run, find_models
from nmrgcl.run.kept import FORMAT


def judge(run: Path, dataset: Dataset, models: list[Model], *, device: torch.device, jobs: int) -> Judgement:
    """The judgement of ``run`` on ``dataset``; raises a DataError where there is nothing to judge against."""
    kept = read_judgement(run, dataset, models) if dataset.y is not None else None
    return kept or evaluate_run(run, dataset, device=device, jobs=jobs)


def read_judgement(run: Path, dataset: Dataset, models: list[Model]) -> Judgement | None:
    """What ``evaluate`` wrote into ``RUN/evaluation.json``; None unless it is about just this and not older.

    The file holds no folds of the untrained encoder, so that its scores are ``[seeds, 1]``.
    """
    try:
        written = (run / EVALUATION).stat().st_mtime
        if any((folder / "config.json").stat().st_mtime > written for folder in find_models(run)):
            return None
        values = json.loads((run / EVALUATION).read_text(encoding="utf-8"))
        return _judgement(values, dataset, models)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _judgement(values: Any, dataset: Dataset, models: list[Model]) -> Judgement | None:
    first, several = models[0], len(models) > 1
    varied = "model" if several else "folds"
    expected = FORMAT | {
        "dataset": dataset.name,
        "method": first.settings.method,
        "features": first.features.kind,
        "protocol": "svm",
        "selection": "honest",
        "svm": asdict(first.settings.svm),
        "varied": varied,
    }
    folds = np.array(values["folds"], dtype=float)
    untrained = np.array(values["untrained"]["scores"], dtype=float)[:, None]
    fits = all(values[key] == value for key, value in expected.items())
    shaped = folds.ndim == 2 and folds.shape[1] == first.settings.svm.folds and untrained.shape == (len(folds), 1)
    complete = len(folds) == len(models) if several else len(folds) > 0
    if not (fits and shaped and complete and np.isfinite(folds).all() and np.isfinite(untrained).all()):
        return None
    return Judgement(
        dataset=dataset.name,
        trained=Scores(folds),
        untrained=Scores(untrained),
        varied=varied,
        method=first.settings.method,
        features=first.features.kind,
        svm=first.settings.svm,
        seeds=tuple(map(int, values["seeds"])),
    )
