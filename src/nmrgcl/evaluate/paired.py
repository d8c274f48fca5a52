"""Paired tests of whether one embedding is better than another on the same folds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import t

from nmrgcl.errors import DataError

FEWEST = 3
"""The smallest number of differences for a test: with two, a coincidence would look certain."""

Folds = Mapping[tuple[str, str, int], Sequence[float]]
"""Scores of the folds, indexed by row, dataset and seed."""


@dataclass(frozen=True)
class Difference:
    """Mean difference in percentage points, its 95 % confidence interval, and the p-value."""

    mean: float
    low: float
    high: float
    p: float


def paired_difference(first: np.ndarray, second: np.ndarray, *, test_to_train: float | None = None) -> Difference:
    """Test ``first`` − ``second``, ``[seeds, folds]`` each, by the corrected resampled t-test (Nadeau & Bengio 2003).

    Training sets of different folds overlap, so folds are not independent samples, and the plain paired t-test finds
    spurious differences. The correction adds the ratio of test to training size to the variance: that of the folds, or
    ``test_to_train`` if each seed has a single split.
    """
    if first.shape != second.shape or first.ndim != 2 or first.size < 2:
        raise DataError(f"scores of shapes {list(first.shape)} and {list(second.shape)} are not from the same folds")
    if first.shape[1] == 1 and test_to_train is None:
        raise DataError("one score per seed: the test needs test_to_train, the ratio of test to training size")
    ratio = 1 / (first.shape[1] - 1) if test_to_train is None else test_to_train
    difference = (first - second).ravel()
    mean, freedom = float(difference.mean()), difference.size - 1
    error = float(np.sqrt(difference.var(ddof=1) * (1 / difference.size + ratio)))
    # All differences are equal, so that t would be 0 / 0 or infinite.
    if error == 0:
        return Difference(mean, mean, mean, 1.0 if mean == 0 else 0.0)
    margin = float(t.ppf(0.975, freedom)) * error
    return Difference(mean, mean - margin, mean + margin, float(2 * t.sf(abs(mean) / error, freedom)))


def holm(p_values: list[float]) -> list[float]:
    """Holm's correction for multiple comparisons: adjusted p-values in the given order."""
    p, order = np.array(p_values), np.argsort(p_values)
    scaled = np.arange(len(p), 0, -1) * p[order]
    adjusted = np.empty(len(p))
    # Adjusted p-values must not decrease in the order of the given ones.
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return adjusted.tolist()


@dataclass(frozen=True)
class Pair:
    """``row`` minus the reference on ``dataset``, over the ``seeds`` that both have.

    ``p`` is the p-value, corrected for ``compared`` comparisons. ``mixed`` is True if for some seed the two were
    computed on different devices.
    """

    row: str
    dataset: str
    difference: Difference
    seeds: int
    p: float
    compared: int = 1
    mixed: bool = False


def pair_rows(
    folds: Folds, row: str, reference: str, dataset: str, *, test_to_train: float | None = None
) -> Pair | None:
    """The difference over the seeds that both rows have; None if there are too few scores for a test."""
    seeds = sorted(seed for name, where, seed in folds if (name, where) == (row, dataset))
    seeds = [seed for seed in seeds if (reference, dataset, seed) in folds]
    first, second = ([folds[name, dataset, seed] for seed in seeds] for name in (row, reference))
    counts = {len(scores) for scores in [*first, *second]}
    if len(counts) != 1 or len(seeds) * max(counts) < FEWEST:
        return None
    found = paired_difference(np.array(first), np.array(second), test_to_train=test_to_train)
    return Pair(row, dataset, found, len(seeds), found.p)


def correct_pairs(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs with p-values corrected for all of them by Holm's method."""
    adjusted = holm([pair.difference.p for pair in pairs])
    return [replace(pair, p=p, compared=len(pairs)) for pair, p in zip(pairs, adjusted, strict=True)]
