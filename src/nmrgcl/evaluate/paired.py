"""Is one embedding better than another on the same folds?"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import t

from nmrgcl.errors import DataError


@dataclass(frozen=True)
class Difference:
    """Mean difference in percentage points, its 95 % confidence interval, and the p-value of no difference."""

    mean: float
    low: float
    high: float
    p: float


def paired_difference(first: np.ndarray, second: np.ndarray, *, test_to_train: float | None = None) -> Difference:
    """``first`` − ``second``, ``[seeds, folds]`` each, by the corrected resampled t-test (Nadeau & Bengio 2003).

    Training sets of different folds overlap, so folds are no independent samples: the plain paired test finds
    differences that are not there. The correction adds the ratio of test to training size to the variance: that of
    the folds, or ``test_to_train`` where each seed has one split of its own.
    """
    if first.shape != second.shape or first.ndim != 2 or first.size < 2:
        raise DataError(f"scores of shape {list(first.shape)} and {list(second.shape)} are not of the same folds")
    ratio = 1 / (first.shape[1] - 1) if test_to_train is None else test_to_train
    difference = (first - second).ravel()
    mean, freedom = float(difference.mean()), difference.size - 1
    error = float(np.sqrt(difference.var(ddof=1) * (1 / difference.size + ratio)))
    if error == 0:
        return Difference(mean, mean, mean, 1.0 if mean == 0 else 0.0)
    margin = float(t.ppf(0.975, freedom)) * error
    return Difference(mean, mean - margin, mean + margin, float(2 * t.sf(abs(mean) / error, freedom)))


def holm(p_values: list[float]) -> list[float]:
    """Holm's correction for several comparisons: adjusted p-values in the given order."""
    order = np.argsort(p_values)
    adjusted = np.empty(len(p_values))
    largest = 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return [float(p) for p in adjusted]
