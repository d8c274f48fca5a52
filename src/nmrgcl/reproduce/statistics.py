"""The statistics behind verdicts, computed from arrays of scores, in which NaN marks a missing score."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import friedmanchisquare, t

from nmrgcl.evaluate.paired import holm
from nmrgcl.evaluate.spread import with_p

LEVEL = 0.05
"""The significance level of tests, after Holm's correction for all comparisons of an item."""
DRAWS = 2000
"""The number of bootstrap resamples."""
FEWEST = 5
"""With fewer seeds, a bootstrap is overconfident and decides nothing; the paper has this many."""


@dataclass(frozen=True)
class Comparison:
    """The mean difference of pairs, its 95 % interval, and the p-value.

    Attributes:
        n: the number of pairs, or of what ``things`` says.
        strata: the number of datasets (or curves), which have equal weight.
        compared: the number of comparisons that ``p`` is corrected for.
        unit: the unit of the difference.
        mixed: datasets for which the two sides of a pair were computed on different devices.
    """

    mean: float
    low: float
    high: float
    p: float
    n: int
    strata: int
    compared: int = 1
    unit: str = "points"
    things: str = "pairs"
    mixed: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The comparison in words."""
        over = "" if self.things == "datasets" else f" over {self.strata} dataset{'s' if self.strata > 1 else ''}"
        sample = f"n = {self.n} {self.things}{over}"
        sample += f"; pairs mix devices on {', '.join(self.mixed)}" if self.mixed else ""
        size = f"{self.mean:+.2f} {self.unit}".rstrip().replace("-", "−")
        if not np.isfinite(self.high):
            return f"{size}, {sample}: too few for an interval"
        corrected = f", Holm over {self.compared}" if self.compared > 1 else ""
        interval = f"95 % interval {self.low:+.2f} … {self.high:+.2f}".replace("-", "−")
        return f"{size} ({interval}, {with_p(self.p)}{corrected}; {sample})"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, with None for an infinite end of the interval."""
        return {key: None if value in (np.inf, -np.inf) else value for key, value in asdict(self).items()}


def compare(
    differences: np.ndarray | Sequence[np.ndarray],
    *,
    unit: str = "points",
    things: str = "pairs",
    mixed: Sequence[str] = (),
) -> Comparison | None:
    """The mean over datasets of ``differences``, ``[seeds]`` for each dataset; None if there is no pair.

    The datasets are those that the claim is about, not a sample of a larger population. The only randomness is that of
    seeds (weights, views and folds), so the standard error is that of a stratified mean, with Welch–Satterthwaite
    degrees of freedom. Datasets with a single pair have no variance and are left out if others have more.
    """
    pairs = [row[np.isfinite(row)] for row in differences]
    several = [row for row in pairs if len(row) > 1]
    used = several or [row for row in pairs if len(row)]
    if not used:
        return None
    mean = float(np.mean([row.mean() for row in used]))
    n, strata = sum(map(len, used)), len(used)
    words: dict[str, Any] = {"unit": unit, "things": things, "mixed": tuple(mixed)}
    if not several:
        return Comparison(mean, -np.inf, np.inf, 1.0, n, strata, **words)
    parts = np.array([row.var(ddof=1) / len(row) for row in used])
    error = float(np.sqrt(parts.sum())) / strata
    if error == 0:
        return Comparison(mean, mean, mean, 1.0 if mean == 0 else 0.0, n, strata, **words)
    freedom = parts.sum() ** 2 / sum(part**2 / (len(row) - 1) for part, row in zip(parts, used, strict=True))
    margin = float(t.ppf(1 - LEVEL / 2, freedom)) * error
    p = float(2 * t.sf(abs(mean) / error, freedom))
    return Comparison(mean, mean - margin, mean + margin, p, n, strata, **words)


def corrected(found: Sequence[Comparison | None]) -> list[Comparison | None]:
    """The comparisons with p-values corrected by Holm's method."""
    there = [one for one in found if one is not None]
    adjusted = iter(holm([one.p for one in there]))
    return [None if one is None else replace(one, p=next(adjusted), compared=len(there)) for one in found]


def rise(levels: Sequence[float], scores: np.ndarray) -> np.ndarray:
    """The rise ``[…, seeds]`` of a line fitted to ``[…, levels, seeds]``, from the first level to the last."""
    x = np.asarray(levels, float)
    # Then the slope needs no intercept: Σ x y / Σ x².
    x = x - x.mean()
    gained: np.ndarray = np.tensordot(scores, x, axes=([-2], [0])) / (x @ x) * (x[-1] - x[0])
    return gained


@dataclass(frozen=True, eq=False)
class Best:
    """The best level of each curve, and how certain it is.

    Attributes:
        levels: the index of the best level of each curve, ``[curves]``.
        inside: the share of resamples in which it is one of those asked for, ``[curves]``.
        most: the share of resamples in which this is true of more than half of the curves.
        n: the smallest number of seeds of a curve.
        curves: the indices of the curves; those with gaps are left out.
    """

    levels: np.ndarray
    inside: np.ndarray
    most: float
    n: int
    curves: list[int]

    def enough(self, wanted: int) -> bool:
        """Whether more than half of the ``wanted`` curves are available, with enough seeds to resample."""
        return 2 * len(self.curves) > wanted and self.n >= FEWEST


def best_level(curves: np.ndarray, asked: Sequence[bool]) -> Best | None:
    """Resample the seeds of scores ``[curves, levels, seeds]`` to find the level with the highest mean of each curve.

    Only seeds that have all levels are used, since a gap could hide the best; None if no curve has two of them.
    """
    # A fixed seed, so that the same scores always lead to the same verdict.
    chance = np.random.default_rng(0)
    kept, tops, hits, sizes = [], [], [], []
    for number, curve in enumerate(curves):
        whole = curve[:, np.isfinite(curve).all(0)]
        n = whole.shape[1]
        if n < 2:
            continue
        # Draw how often each seed occurs instead of the seeds themselves: one matrix product then gives all means.
        counts = chance.multinomial(n, [1 / n] * n, size=DRAWS)
        drawn = (whole @ counts.T).argmax(0)
        kept.append(number)
        tops.append(int(whole.mean(1).argmax()))
        hits.append(np.asarray(asked)[drawn])
        sizes.append(n)
    if not kept:
        return None
    table = np.array(hits)
    # Within each resample, because the claim is about most curves at once.
    most = float((table.sum(0) > len(kept) / 2).mean())
    return Best(np.array(tops), table.mean(1), most, min(sizes), kept)


@dataclass(frozen=True)
class Spread:
    """How much the levels of one dataset differ: p by Friedman's test (seeds as blocks), and best minus worst mean."""

    p: float
    range: float
    n: int


def spread(scores: np.ndarray) -> Spread | None:
    """The spread of ``[levels, seeds]``, without empty levels; None if fewer than three levels or two seeds remain."""
    scores = scores[np.isfinite(scores).any(1)]
    whole = scores[:, np.isfinite(scores).all(0)]
    if whole.shape[1] < 2 or whole.shape[0] < 3:
        return None
    means = whole.mean(1)
    # Friedman's statistic is 0 / 0 if all levels tie in every block.
    same = bool((whole == whole[:1]).all())
    p = 1.0 if same else float(friedmanchisquare(*whole).pvalue)
    return Spread(p, float(means.max() - means.min()), whole.shape[1])
