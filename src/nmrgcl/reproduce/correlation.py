"""Rank correlations: of one dataset, with groups held fixed, and averaged over datasets."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, rankdata, t

from nmrgcl.reproduce.statistics import LEVEL, Comparison

LARGEST = 0.999
"""Correlations are cut to this size, as Fisher's transformation of 1 is infinite."""


@dataclass(frozen=True)
class Correlation:
    """Spearman's ρ, its 95 % interval (Bonett & Wright 2000), the p-value, and the number of observations.

    ``error`` is the standard error of ``arctanh(rho)``.
    """

    rho: float
    error: float
    p: float
    n: int

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return float(np.tanh(_fisher(self.rho) - _QUANTILE * self.error))

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return float(np.tanh(_fisher(self.rho) + _QUANTILE * self.error))


_QUANTILE = float(norm.ppf(1 - LEVEL / 2))


def spearman(x: np.ndarray, y: np.ndarray, *groups: np.ndarray) -> Correlation | None:
    """The rank correlation of ``x`` and ``y`` ``[n]``, with each of ``groups`` (``[n]`` names) held fixed.

    Group effects are removed from the ranks by least squares. Pairs with NaN take no part. None if too few pairs are
    left, or if one side does not vary.
    """
    there = np.isfinite(x) & np.isfinite(y)
    design = [np.ones((int(there.sum()), 1))]
    for group in groups:
        names = np.unique(group[there])
        # The first name is the base, which the column of ones stands for.
        design.append((group[there][:, None] == names[1:]).astype(float))
    known = np.hstack(design)
    # By rank, because groups may be nested in each other, and then hold fewer degrees of freedom than names.
    held = int(np.linalg.matrix_rank(known)) - 1 if len(known) else 0
    n = int(there.sum())
    if n - 3 - held < 1:
        return None
    sides = [_residual(rankdata(side[there]), known) for side in (x, y)]
    lengths = [float(np.sqrt(side @ side)) for side in sides]
    # Where groups explain all of a side, what is left is the rounding of ranks up to n.
    if min(lengths) < 1e-9 * n:
        return None
    rho = float(np.clip(sides[0] @ sides[1] / (lengths[0] * lengths[1]), -1, 1))
    freedom = n - 2 - held
    # (1 − ρ)(1 + ρ) instead of 1 − ρ², which cancels near ±1.
    p = float(2 * t.sf(abs(rho) * np.sqrt(freedom / max((1 - rho) * (1 + rho), 1e-300)), freedom))
    return Correlation(rho, float(np.sqrt((1 + rho**2 / 2) / (n - 3 - held))), p, n)


def average(found: Sequence[Correlation | None], things: str) -> Comparison | None:
    """The mean correlation over datasets (of Fisher's transformation, each dataset once); None without any."""
    there = [one for one in found if one is not None]
    if not there:
        return None
    # Transformed values are nearly normal, with a spread that hardly depends on ρ.
    mean = float(np.mean([_fisher(one.rho) for one in there]))
    error = float(np.sqrt(sum(one.error**2 for one in there))) / len(there)
    low, middle, high = (float(np.tanh(mean + by * _QUANTILE * error)) for by in (-1, 0, 1))
    # For one dataset Student's t is known; the mean over several is judged as normal.
    p = there[0].p if len(there) == 1 else float(2 * norm.sf(abs(mean) / error))
    return Comparison(middle, low, high, p, sum(one.n for one in there), len(there), unit="", things=things)


def reliability(scores: np.ndarray) -> float | None:
    """Which share of the variance of the level means of ``[levels, seeds]`` is not due to chance (Cronbach's α).

    With seeds as blocks, 1 − MS_residual / MS_levels; correlations with the means cannot exceed its square root. Only
    seeds that have all levels are used; None if fewer than two remain, or if the means do not vary.
    """
    whole = scores[:, np.isfinite(scores).all(0)]
    levels, seeds = whole.shape
    if levels < 2 or seeds < 2:
        return None
    means = whole.mean(1)
    between = seeds * means.var(ddof=1)
    left = whole - means[:, None] - whole.mean(0) + whole.mean()
    # What is left after the effects of level and seed has (levels − 1)(seeds − 1) degrees of freedom.
    within = float(np.square(left).sum()) / ((levels - 1) * (seeds - 1))
    return float(max(0.0, 1 - within / between)) if between > 0 else None


def _fisher(rho: float) -> float:
    return float(np.arctanh(np.clip(rho, -LARGEST, LARGEST)))


def _residual(ranks: np.ndarray, known: np.ndarray) -> np.ndarray:
    left: np.ndarray = ranks - known @ np.linalg.lstsq(known, ranks, rcond=None)[0]
    return left
