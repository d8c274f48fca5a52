"""Inner products of graphs' word counts: how many pairs of equal words two graphs have."""

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

FREQUENT = 1 / 16
"""Occurrences per graph from which on a word's column is multiplied as a dense one; found by trying a few values."""


def add_products(total: Tensor, word: np.ndarray, batch: np.ndarray) -> None:
    """Add to ``total`` ``[B, B]`` the inner products of the graphs' counts of words, which must be exact in it.

    ``word`` ``[T]`` are numbers from 0 on, ``batch`` ``[T]`` the graph of each, ascending. A word of one graph only
    changes the diagonal; frequent words make a dense product, the others a sparse one.
    """
    size = len(total)
    times = np.bincount(word)
    first, last = np.empty_like(times), np.empty_like(times)
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
    counts = csr_array((np.ones(len(column)), column, ends), (size, width))  # equal columns of a row need not be added
    found = (counts @ counts.T).tocoo()
    at = torch.from_numpy(found.coords[0].astype(np.int64) * size + found.coords[1])
    total.view(-1).index_add_(0, at, torch.from_numpy(found.data).to(total))


def _chosen(kept: np.ndarray, word: np.ndarray, batch: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """The words that are ``kept``, numbered anew, the graph of each, and how many different ones there are."""
    at = np.flatnonzero(kept[word])
    return (kept.cumsum() - 1)[word[at]], batch[at], int(kept.sum())
