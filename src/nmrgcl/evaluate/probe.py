"""Linear probes of frozen embeddings: one linear model per task, for binary labels or numbers.

C is chosen on the validation data with one value for all tasks, as for fingerprints.
"""

from dataclasses import dataclass

import numpy as np
import torch
from sklearn.linear_model import Ridge
from torch import Tensor

from nmrgcl.data.splits import Split
from nmrgcl.evaluate.fingerprints import PENALTIES
from nmrgcl.evaluate.goals import GOALS
from nmrgcl.evaluate.linear import scaled
from nmrgcl.evaluate.logistic import fit_logistic


@dataclass(frozen=True, eq=False)
class Probe:
    """``weight`` ``[T, D]`` and ``bias`` ``[T]`` for unscaled embeddings; scores as in ``FingerprintScore``."""

    weight: Tensor
    bias: Tensor
    test: float
    valid: float
    chosen: float
    beside: dict[str, float]


def fit_probe(z: Tensor, y: np.ndarray, split: Split, goal: str) -> Probe:
    """Fit logistic or, for numbers, ridge regression of labels ``y`` ``[M, T]`` on embeddings ``z`` ``[M, D]``.

    Columns are standardised on the training data for the fit; the returned weights and bias include this scaling. A
    task without two different training labels gets zero weights.
    """
    aim, labels = GOALS[goal], np.asarray(y, float)
    aim.require(labels, split)
    z = z.double().cpu()
    train = torch.from_numpy(split.train)
    rows = scaled(z, train, "standardise")
    found = [_fit(rows[train], labels[split.train, task], goal) for task in range(labels.shape[1])]
    weight = torch.stack([one[0] for one in found], 1)  # [values of C, T, D]
    bias = torch.stack([one[1] for one in found], 1)
    spread = z[train].std(0, correction=0)
    weight = weight / torch.where(spread > 0, spread, 1.0)
    bias = bias - weight @ z[train].mean(0)
    outputs, truth = torch.einsum("md,ctd->cmt", z, weight) + bias[:, None], torch.from_numpy(labels)
    merits = [float(aim.merit(made[split.valid], truth[split.valid])) for made in outputs]
    best = int(np.argmax(merits))
    test, beside = aim.scores(outputs[best][split.test], truth[split.test])
    return Probe(weight[best].float(), bias[best].float(), test, aim.unit * merits[best], PENALTIES[best], beside)


def _fit(rows: Tensor, y: np.ndarray, goal: str) -> tuple[Tensor, Tensor]:
    """Weights ``[P, D]`` and bias ``[P]`` for each C."""
    known = ~np.isnan(y)
    values = np.unique(y[known])
    if len(values) < 2:
        constant = float(values[0]) if len(values) and goal == "numbers" else 0.0
        return rows.new_zeros(len(PENALTIES), rows.shape[1]), rows.new_full((len(PENALTIES),), constant)
    x, labels = rows[torch.from_numpy(known)], y[known]
    if goal == "binary":
        weights, intercept = fit_logistic(x, torch.from_numpy(labels.astype(np.int64)), PENALTIES, classes=2)
        return weights[:, :, 1] - weights[:, :, 0], intercept[:, 1] - intercept[:, 0]
    fitted = [Ridge(alpha=1 / c).fit(x.numpy(), labels) for c in PENALTIES]
    return (
        torch.from_numpy(np.stack([one.coef_ for one in fitted])),
        torch.tensor([float(one.intercept_) for one in fitted], dtype=torch.float64),
    )
