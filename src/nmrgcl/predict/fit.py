"""Fit an ensemble of trained members, and refuse labels that teach nothing."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from nmrgcl.data.molecules import Molecules
from nmrgcl.data.splits import Split
from nmrgcl.errors import DataError, printable
from nmrgcl.predict.calibrate import fit_calibration
from nmrgcl.predict.members import Member
from nmrgcl.predict.predictor import Predictor, outputs_of
from nmrgcl.predict.similarity import Known
from nmrgcl.settings import Settings


def require_labels(molecules: Molecules, goal: str) -> None:
    """Raise DataError if a task cannot be learned: no column, no label, or the same label everywhere."""
    if not molecules.tasks:
        raise DataError(printable(f"{molecules.source}: there is no numeric column to learn; name one with --labels"))
    for name, column in zip(molecules.tasks, molecules.labels.T, strict=True):
        values = np.unique(column[~np.isnan(column)])
        if not len(values):
            raise DataError(printable(f"{molecules.source}: column {name!r} is empty; leave it out of --labels"))
        if len(values) == 1:
            one = "has only one class" if goal == "binary" else "is the same for all molecules"
            raise DataError(
                printable(f"{molecules.source}: column {name!r} {one} ({values[0]:g}); leave it out of --labels")
            )
        if goal == "binary" and (strange := values[~np.isin(values, (0, 1))].tolist()):
            raise DataError(
                printable(
                    f"{molecules.source}: column {name!r} contains {strange[0]:g}; binary labels must be 0 or 1; "
                    "use --task numbers for others"
                )
            )


def without_constant_tasks(molecules: Molecules) -> tuple[Molecules, list[str]]:
    """Remove the tasks whose labels are all the same; also return their names."""
    spread = [len(np.unique(column[~np.isnan(column)])) > 1 for column in molecules.labels.T]
    kept = [name for name, varied in zip(molecules.tasks, spread, strict=True) if varied]
    left = [name for name in molecules.tasks if name not in kept]
    return replace(molecules, tasks=tuple(kept), labels=molecules.labels[:, np.array(spread, bool)]), left


def fit_ensemble(
    members: Sequence[Member], molecules: Molecules, split: Split, settings: Settings, *, goal: str, bits: np.ndarray
) -> Predictor:
    """Combine ``members``, with binary tasks calibrated on the validation part; ``bits`` are all fingerprints."""
    models = [member.model for member in members]
    calibration = None
    if goal == "binary":
        valid = molecules.graphs.take(torch.from_numpy(split.valid))
        # Not on the training part, where the logits are overconfident.
        calibration = fit_calibration(outputs_of(models, valid).mean(0), molecules.labels[split.valid])
    known = Known.of([molecules.smiles[row] for row in split.train.tolist()], bits[split.train])
    return Predictor(models, settings, molecules.tasks, goal, calibration, known)
