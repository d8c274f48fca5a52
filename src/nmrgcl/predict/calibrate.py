"""Calibrate logits to probabilities (Platt 1999)."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

MOST_STEPS = 200
"""Largest number of optimiser steps; it usually needs about ten."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """Slope and offset, ``[T]`` each: the probability of task t is ``sigmoid(slope[t] · z + offset[t])``.

    The slope is an inverse temperature. Slope 1 and offset 0 leave a task unchanged.
    """

    slope: np.ndarray
    offset: np.ndarray

    @property
    def constant(self) -> np.ndarray:
        """Return ``[T]``, True for tasks in which every molecule gets the same probability."""
        return np.asarray(self.slope == 0)

    def __call__(self, logits: np.ndarray) -> np.ndarray:
        """Return the ``[M, T]`` probabilities."""
        return np.asarray(expit(self.slope * logits + self.offset))


def fit_calibration(logits: np.ndarray, labels: np.ndarray) -> Calibration:
    """Fit slope and offset of every task by maximum likelihood, on molecules that were not used for training.

    As proposed by Platt, the target of a label is ``(n₁ + 1) / (n₁ + 2)`` for 1 and ``1 / (n₀ + 2)`` for 0, where n₁
    and n₀ are the numbers of such labels: the slope then stays finite even if the classes are separable. The slope is
    never negative: a task whose scores are anticorrelated with its labels gets slope 0, and every molecule the same
    probability. A task with labels of one class only is left unchanged.

    Args:
        logits: ``[M, T]``.
        labels: ``[M, T]`` of 0 and 1, NaN where one is missing.
    """
    found = [_fit(column, known) for column, known in zip(logits.T, labels.T, strict=True)]
    slope, offset = (np.array(values, float) for values in zip(*found, strict=True))
    return Calibration(slope, offset)


def _fit(logits: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    z, y = logits[~np.isnan(labels)].astype(float), labels[~np.isnan(labels)]
    positives, negatives = int((y == 1).sum()), int((y == 0).sum())
    if not positives or not negatives:
        return 1.0, 0.0
    target = np.where(y == 1, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    scale = max(float(np.abs(z).max()), 1e-9)  # so that both parameters have the same magnitude
    z = z / scale

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the negative log-likelihood and its gradient."""
        made = w[0] * z + w[1]
        error = expit(made) - target
        # log(1 + exp(made)) would overflow for large logits.
        value = float(np.sum(np.logaddexp(0, made) - target * made))
        return value, np.array([error @ z, error.sum()])

    # This offset is the best one for slope 0.
    start = np.array([0.0, float(logit(target.mean()))])
    bounds = [(0, None), (None, None)]
    options = {"maxiter": MOST_STEPS, "ftol": 1e-15, "gtol": 1e-9}
    best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    return float(best[0]) / scale, float(best[1])
