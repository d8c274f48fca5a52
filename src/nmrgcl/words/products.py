"""Inner products of the word counts of graphs."""

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

FREQUENT = 1 / 16
"""Occurrences per graph from which the column of a word is treated as dense; tuned empirically."""


def add_products(total: Tensor, word: np.ndarray, batch: np.ndarray) -> None:
    """Add the inner products of word counts to ``total`` ``[B, B]``, whose type must represent them exactly.

    ``word`` ``[T]`` are word numbers from 0, ``batch`` ``[T]`` their graphs, ascending. Words that occur in a single
    graph change only the diagonal; frequent words are multiplied as a dense matrix, the others as a sparse one.
    """
    size = len(total)
    times = np.bincount(word)
    first, last = np.empty_like(times), np.empty_like(times)
    # Of repeated indices NumPy keeps the last assignment: reversed, that is the first graph of a word.
    first[word[::-1]], last[word] = batch[::-1], batch
    alone = first == last
    total.diagonal().add_(torch.from_numpy(np.bincount(first[alone], times[alone] ** 2, size)))
    frequent = ~alone & (times >= FREQUENT * size)
    if frequent.any():
        column, row, width = _chosen(frequent, word, batch)
        dense = torch.from_numpy(np.bincount(row * width + column, minlength=size * width)).view(size, width).to(total)
        total.addmm_(dense, dense.T)
    column, row, width = _chosen(~alone & ~frequent, word, batch)
    ends = np.searchsorted(row, np.arange(size + 1))
    counts = csr_array((np.ones(len(column)), column, ends), (size, width))  # repeated entries need not be merged
    found = (counts @ counts.T).tocoo()
    at = torch.from_numpy(found.coords[0].astype(np.int64) * size + found.coords[1])
    total.view(-1).index_add_(0, at, torch.from_numpy(found.data).to(total))


def _chosen(kept: np.ndarray, word: np.ndarray, batch: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the ``kept`` words, renumbered, their graphs, and the number of distinct ones."""
    at = np.flatnonzero(kept[word])
    return (kept.cumsum() - 1)[word[at]], batch[at], int(kept.sum())
