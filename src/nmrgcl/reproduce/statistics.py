"""What verdicts rest on: arrays of scores in, numbers out; NaN is a score that is missing."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import friedmanchisquare, t

from nmrgcl.evaluate.paired import holm
from nmrgcl.evaluate.spread import with_p

LEVEL = 0.05
"""Significance level of tests, after Holm's correction for all comparisons of an item."""
DRAWS = 2000
"""Resamples of a bootstrap."""
FEWEST = 5
"""Seeds below which resampling them is too sure of itself to decide anything; the paper has as many."""


@dataclass(frozen=True)
class Comparison:
    """A mean difference of pairs, its 95 % interval, and the p-value of no difference.

    Attributes:
        n: pairs, or what ``things`` says.
        strata: datasets (or curves) they are of; each counts the same.
        compared: comparisons that ``p`` is corrected for.
        unit: of the difference.
        mixed: datasets on which the two sides of a pair were computed on different devices.
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
        """All of it in words."""
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
        """Plain values; an interval without an end has none."""
        return {key: None if value in (np.inf, -np.inf) else value for key, value in asdict(self).items()}


def compare(
    differences: np.ndarray | Sequence[np.ndarray],
    *,
    unit: str = "points",
    things: str = "pairs",
    mixed: Sequence[str] = (),
) -> Comparison | None:
    """The mean of ``differences``, ``[seeds]`` for each dataset, over datasets; None where there is no pair.

    The datasets are those the claim is about, not a sample of others: chance is that of seeds (weights, views and
    folds), so that the error is that of a stratified mean, with Welch and Satterthwaite's degrees of freedom. Datasets
    with one pair have no spread and are left out where others have more.
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
    """The same with Holm's p-values."""
    there = [one for one in found if one is not None]
    adjusted = iter(holm([one.p for one in there]))
    return [None if one is None else replace(one, p=next(adjusted), compared=len(there)) for one in found]


def rise(levels: Sequence[float], scores: np.ndarray) -> np.ndarray:
    """``[…, levels, seeds]`` → ``[…, seeds]``: what the fitted line gains from the first level to the last."""
    x = np.asarray(levels, float)
    x = x - x.mean()
    gained: np.ndarray = np.tensordot(scores, x, axes=([-2], [0])) / (x @ x) * (x[-1] - x[0])
    return gained


@dataclass(frozen=True, eq=False)
class Best:
    """Where the best level of each curve lies, and how sure that is.

    Attributes:
        levels: the number of the best level of each curve, ``[curves]``.
        inside: share of draws in which it is one of those asked for, ``[curves]``.
        most: share of draws in which that is so for more than half of the curves.
        n: seeds of the curve that has fewest.
        curves: which of the curves these are; those with gaps are left out.
    """

    levels: np.ndarray
    inside: np.ndarray
    most: float
    n: int
    curves: list[int]

    def enough(self, wanted: int) -> bool:
        """Whether more than half of the curves are there, with seeds enough to resample."""
        return 2 * len(self.curves) > wanted and self.n >= FEWEST


def best_level(curves: np.ndarray, asked: Sequence[bool]) -> Best | None:
    """Resample the seeds of ``[curves, levels, seeds]`` scores and see where each curve's mean is highest.

    Only seeds that have all levels take part, since a gap could hide the best; None where no curve has two of them.
    """
    chance = np.random.default_rng(0)
    kept, tops, hits, sizes = [], [], [], []
    for number, curve in enumerate(curves):
        whole = curve[:, np.isfinite(curve).all(0)]
        n = whole.shape[1]
        if n < 2:
            continue
        # How often each seed is drawn, instead of which are: one matrix product gives all means.
        counts = chance.multinomial(n, [1 / n] * n, size=DRAWS)
        drawn = (whole @ counts.T).argmax(0)
        kept.append(number)
        tops.append(int(whole.mean(1).argmax()))
        hits.append(np.asarray(asked)[drawn])
        sizes.append(n)
    if not kept:
        return None
    table = np.array(hits)
    most = float((table.sum(0) > len(kept) / 2).mean())
    return Best(np.array(tops), table.mean(1), most, min(sizes), kept)


@dataclass(frozen=True)
class Spread:
    """How far apart the levels of one dataset are: p of "all alike" (Friedman, seeds as blocks), best minus worst."""

    p: float
    range: float
    n: int


def spread(scores: np.ndarray) -> Spread | None:
    """Of ``[levels, seeds]``, levels without scores left out; None where fewer than three remain, or two seeds."""
    scores = scores[np.isfinite(scores).any(1)]
    whole = scores[:, np.isfinite(scores).all(0)]
    if whole.shape[1] < 2 or whole.shape[0] < 3:
        return None
    means = whole.mean(1)
    same = bool((whole == whole[:1]).all())
    p = 1.0 if same else float(friedmanchisquare(*whole).pvalue)
    return Spread(p, float(means.max() - means.min()), whole.shape[1])
