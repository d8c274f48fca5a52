"""The best k of many candidates for every query, exactly, with the scores of one block in memory at a time."""

from collections.abc import Callable

import numpy as np

QUERIES = 1024
"""Queries that are compared with a block of candidates at once."""

Score = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From ``[A, D]`` and ``[B, D]`` to ``[A, B]``; higher is nearer."""


class Nearest:
    """Candidates come in blocks; those of equal score stay in the order in which they came.

    Attributes:
        value: ``[Q, k]`` the highest scores so far, in descending order; -inf where there were fewer candidates.
        row: ``[Q, k]`` the candidates that have them, by their number; -1 where there were fewer.
    """

    def __init__(self, queries: np.ndarray, k: int, score: Score) -> None:
        self.queries, self.k, self.score = queries, k, score
        self.value = np.full((len(queries), k), -np.inf, np.float32)
        self.row = np.full((len(queries), k), -1)

    def add(self, candidates: np.ndarray, rows: np.ndarray) -> None:
        """Compare all queries with ``candidates`` (``[B, D]``), which are numbered ``rows`` (``[B]``, ascending)."""
        for first in range(0, len(self.queries), QUERIES):
            some = slice(first, first + QUERIES)
            scores = self.score(self.queries[some], candidates)
            self.value[some], self.row[some] = _best(self.value[some], self.row[some], scores, rows)


def _best(value: np.ndarray, row: np.ndarray, scores: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Only a score above the last of those kept can enter, since an equal one came earlier."""
    queries, k = value.shape
    enters = scores > value[:, -1:]
    if scores.shape[1] > k and np.isneginf(value[:, -1]).any():  # at first all would
        enters &= scores >= np.partition(scores, -k, axis=1)[:, -k, None]
    query, column = np.nonzero(enters)
    query = np.concatenate([np.repeat(np.arange(queries), k), query])
    values = np.concatenate([value.ravel(), scores[enters]])
    found = np.concatenate([row.ravel(), rows[column]])
    order = np.lexsort((-values, query))  # it is stable, and what came earlier stands earlier
    starts = np.searchsorted(query[order], np.arange(queries))
    chosen = order[starts[:, None] + np.arange(k)]
    return values[chosen], found[chosen]
