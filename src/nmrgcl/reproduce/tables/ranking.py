"""Average ranks over datasets, with Friedman's and Nemenyi's tests (Demšar 2006)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from nmrgcl.evaluate.spread import with_p
from nmrgcl.reproduce.statistics import LEVEL


@dataclass(frozen=True)
class Ranking:
    """Rows by average rank; 1 is the best.

    Attributes:
        names: the rows, best first.
        ranks: their average ranks.
        p: the p-value of Friedman's test with datasets as blocks.
        distance: the critical difference: ranks closer than this do not differ significantly (Nemenyi's test, 5 %).
        datasets: the datasets over which ranks are averaged.
        left_out: rows without a score on some of them.
    """

    names: tuple[str, ...]
    ranks: tuple[float, ...]
    p: float
    distance: float
    datasets: tuple[str, ...]
    left_out: tuple[str, ...] = ()

    def cliques(self) -> list[tuple[int, int]]:
        """First and last row of each maximal group of rows that do not differ significantly."""
        ends = [max(j for j, rank in enumerate(self.ranks) if rank - start < self.distance) for start in self.ranks]
        runs = [(i, end) for i, end in enumerate(ends) if end > i]
        return [(i, end) for i, end in runs if not any(a < i and end <= b for a, b in runs)]

    @property
    def sentence(self) -> str:
        """The test in words."""
        left = f"; not ranked, because of gaps: {', '.join(self.left_out)}" if self.left_out else ""
        return (
            f"Friedman's test over {len(self.datasets)} datasets and {len(self.names)} rows: {with_p(self.p)}; "
            f"critical difference of average ranks (Nemenyi, 5 %): {self.distance:.2f}{left}"
        )


def rank_rows(names: Sequence[str], datasets: Sequence[str], means: np.ndarray) -> Ranking | None:
    """Rank mean scores ``[datasets, rows]`` with NaN for gaps; None for fewer than three rows or two datasets."""
    used = np.isfinite(means).any(1)
    whole = np.isfinite(means[used]).all(0) if used.any() else np.zeros(len(names), bool)
    table = means[used][:, whole]
    count, rows = table.shape
    if rows < 3 or count < 2:
        return None
    ranks = rankdata(-table, axis=1).mean(0)
    order = np.argsort(ranks, kind="stable")
    kept = [name for name, there in zip(names, whole, strict=True) if there]
    left = tuple(name for name, n in zip(names, np.isfinite(means).sum(0), strict=True) if 0 < n < used.sum())
    # Friedman's statistic is 0 / 0 if all rows tie on every dataset.
    alike = bool((table == table[:, :1]).all())
    return Ranking(
        names=tuple(kept[number] for number in order),
        ranks=tuple(float(rank) for rank in ranks[order]),
        p=1.0 if alike else float(friedmanchisquare(*table.T).pvalue),
        distance=critical_difference(rows, count),
        datasets=tuple(name for name, there in zip(datasets, used, strict=True) if there),
        left_out=left,
    )


def critical_difference(rows: int, datasets: int) -> float:
    """Nemenyi's critical difference q √(k (k + 1) / 6N), where q is a quantile of the studentised range over √2."""
    q = float(studentized_range.ppf(1 - LEVEL, rows, inf)) / sqrt(2)
    return q * sqrt(rows * (rows + 1) / (6 * datasets))
