"""Exact k-nearest-neighbour search over blocks of candidates; only the scores of one block are in memory at a time."""

from collections.abc import Callable

import numpy as np

QUERIES = 1024
"""How many queries are compared with a block of candidates at once."""

Score = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Similarities ``[A, B]`` of ``[A, D]`` and ``[B, D]``; higher means nearer."""


class Nearest:
    """The best ``k`` candidates so far for every query; of equal scores, the earlier candidate comes first.

    Attributes:
        value: ``[Q, k]`` the highest scores in descending order; -inf where there were fewer candidates.
        row: ``[Q, k]`` the row numbers of these candidates; -1 where there were fewer.
    """

    def __init__(self, queries: np.ndarray, k: int, score: Score) -> None:
        self.queries, self.k, self.score = queries, k, score
        self.value = np.full((len(queries), k), -np.inf, np.float32)
        self.row = np.full((len(queries), k), -1)

    def add(self, candidates: np.ndarray, rows: np.ndarray) -> None:
        """Compare all queries with ``candidates`` (``[B, D]``), whose row numbers are ``rows`` (``[B]``, ascending)."""
        for first in range(0, len(self.queries), QUERIES):
            some = slice(first, first + QUERIES)
            scores = self.score(self.queries[some], candidates)
            self.value[some], self.row[some] = _best(self.value[some], self.row[some], scores, rows)


def _best(value: np.ndarray, row: np.ndarray, scores: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Merge new scores into the best ``k``; only those above the k-th enter, since equal ones came earlier."""
    queries, k = value.shape
    enters = scores > value[:, -1:]
    if scores.shape[1] > k and np.isneginf(value[:, -1]).any():  # All scores of the first block would enter.
        enters &= scores >= np.partition(scores, -k, axis=1)[:, -k, None]
    query, column = np.nonzero(enters)
    query = np.concatenate([np.repeat(np.arange(queries), k), query])
    values = np.concatenate([value.ravel(), scores[enters]])
    found = np.concatenate([row.ravel(), rows[column]])
    order = np.lexsort((-values, query))  # Stable, so earlier candidates precede later ones of equal score.
    starts = np.searchsorted(query[order], np.arange(queries))
    chosen = order[starts[:, None] + np.arange(k)]
    return values[chosen], found[chosen]
