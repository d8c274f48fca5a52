"""Compare two models over several seeds: which has the flatter spectrum, and by how much?"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import t

FLATTER = ("effective_rank", "used", "stable_rank", "participation_ratio", "directions_for_99_percent")
"""Measures that are higher for flatter spectra."""
COMPARED = (*FLATTER, "dead_dimensions", "duplicate_dimensions", "mean_correlation", "uniformity")


@dataclass(frozen=True)
class MeasureDifference:
    """Second minus first: the mean over pairs and its 95 % interval (Student's t), which is None for a single pair."""

    measure: str
    first: float
    second: float
    difference: float
    low: float | None
    high: float | None
    pairs: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def compare_measures(
    first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]]
) -> list[MeasureDifference]:
    """The difference in each measure of ``COMPARED`` over pairs of models with the same seed."""
    found = []
    for name in COMPARED:
        a, b = (np.array([float(one[name]) for one in many]) for many in (first, second))
        low = high = None
        mean, n = float((b - a).mean()), len(a)
        if n > 1:
            half = float(t.ppf(0.975, n - 1) * (b - a).std(ddof=1) / math.sqrt(n))
            low, high = mean - half, mean + half
        found.append(MeasureDifference(name, float(a.mean()), float(b.mean()), mean, low, high, n))
    return found


def say_which_is_flatter(differences: Sequence[MeasureDifference]) -> str:
    """A sentence about the effective rank; it is undecided without an interval or if the interval includes zero."""
    rank = next(one for one in differences if one.measure == "effective_rank")
    by = f"effective rank {rank.first:.2f} and {rank.second:.2f}, a difference of {rank.difference:+.2f}"
    if rank.low is None or rank.high is None:
        return f"One pair decides nothing: {by}; diagnose runs of several seeds."
    interval = f"{by}, 95 % interval {rank.low:+.2f} to {rank.high:+.2f} over {rank.pairs} pairs"
    if rank.low > 0:
        return f"The second has the flatter spectrum: {interval}."
    if rank.high < 0:
        return f"The first has the flatter spectrum: {interval}."
    return f"Neither spectrum is flatter beyond chance: {interval}."
