"""Learn vectors of documents and words by negative sampling (Mikolov et al. 2013, Le and Mikolov 2014), on counts.

A row (a document, or a word for skip-gram) has places. At each place, words are predicted from the mean of the vectors
of the row and of the context words. PV-DBOW and skip-gram have one place per row and no context; PV-DM has one place
per distinct window. Equal windows are merged into one with a count, and the places of a batch share their negative
samples, so that an epoch consists of a few matrix products instead of one update per word.

Given the word vectors, the vector of a row minimises a convex function. ``infer`` finds it deterministically, for
training rows and new rows alike.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import csr_array, vstack
from torch import Tensor
from torch.nn.functional import embedding, softplus

from nmrgcl.adam import SparseAdam
from nmrgcl.words.counts import count_columns
from nmrgcl.words.wl import combine

PAIRS_AT_ONCE = 2048
"""Approximate number of distinct pairs of place and word per training step."""
NEGATIVES_AT_ONCE = 256
"""Number of negative samples that a batch shares; they are reweighted to the intended number per place."""
STEPS = 30
"""Number of gradient steps with momentum to infer the vectors of rows."""
SHRINKAGE = 1.0
"""L2 penalty on the vectors of rows, without which some would be infinite."""


@dataclass(frozen=True, eq=False)
class Places:
    """``row`` ``[P]``, context words ``around`` ``[P, M]`` (-1: none), and ``counts`` ``[P, W]`` of predicted words."""

    row: Tensor
    around: Tensor
    counts: csr_array

    def take(self, index: Tensor) -> "Places":
        """Return the places at ``index``."""
        return Places(self.row[index], self.around[index], self.counts[index.numpy()])

    def pairs(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return place, word and count, ``[E]`` each, of the non-zero counts."""
        found = self.counts.tocoo()
        place, word = (torch.from_numpy(part.astype(np.int64)) for part in found.coords)
        return place, word, torch.from_numpy(found.data).float()


@dataclass(frozen=True, eq=False)
class Words:
    """Word vectors: ``output`` ``[W, D]`` as predicted words, ``input`` ``[W, D]`` as context words.

    ``chance`` ``[W]`` is the cumulative probability of words as negative samples: their frequency to the power of 3/4.
    """

    output: Tensor
    input: Tensor
    chance: Tensor

    def negatives(self, start: Tensor) -> Tensor:
        """Return ``[NEGATIVES_AT_ONCE]`` negative samples by systematic sampling with offset ``start`` in [0, 1)."""
        at = (torch.arange(NEGATIVES_AT_ONCE) + start) / NEGATIVES_AT_ONCE
        return torch.searchsorted(self.chance, at).clamp(max=len(self.chance) - 1)


def bags(counts: csr_array) -> Places:
    """Return the places of PV-DBOW and skip-gram: each row of ``counts`` ``[R, W]`` is one place without context."""
    rows = counts.shape[0]
    return Places(torch.arange(rows), torch.empty(rows, 0, dtype=torch.long), counts.tocsr())


def windows(row: Tensor, around: Tensor, word: Tensor, num_words: int) -> Places:
    """Return the places of PV-DM: tokens ``word`` ``[T]`` with equal ``row`` and ``around`` share one; skip -1."""
    row, around, word = row[word >= 0], around[word >= 0], word[word >= 0]
    key = combine(row, *around.unbind(1))
    _, first, place = np.unique(key.numpy(), return_index=True, return_inverse=True)
    counts = count_columns(word.numpy(), place, (len(first), num_words))
    return Places(row[first], around[first], counts)


def join(parts: Sequence[Places], rows: Sequence[int]) -> Places:
    """Concatenate the places of parts with ``rows`` rows each."""
    starts = [0, *np.cumsum(rows)[:-1].tolist()]
    return Places(
        torch.cat([part.row + start for part, start in zip(parts, starts, strict=True)]),
        torch.cat([part.around for part in parts]),
        vstack([part.counts for part in parts], format="csr"),
    )


def learn(places: Places, num_rows: int, *, width: int, negatives: int, epochs: int, lr: float) -> tuple[Tensor, Words]:
    """Learn vectors ``[R, D]`` of rows, and those of words, with torch's default random generator."""
    num_words = places.counts.shape[1]
    # As in word2vec: small random inputs, and outputs of zero, so that every pair begins with a probability of one
    # half.
    rows, inputs = ((torch.rand(n, width) - 0.5) / width for n in (num_rows, num_words if places.around.numel() else 0))
    share = torch.from_numpy(places.counts.sum(0)) ** 0.75
    words = Words(torch.zeros(num_words, width), inputs, (share.cumsum(0) / share.sum()).float())
    tables = [rows, words.output] + [words.input] * bool(places.around.numel())
    # A batch touches few rows of the tables; dense gradients would cost the whole vocabulary at each step.
    optimiser = SparseAdam([table.requires_grad_() for table in tables], lr=lr)
    at_once = max(1, PAIRS_AT_ONCE * len(places.row) // max(places.counts.nnz, 1))
    for epoch in range(epochs):
        optimiser.param_groups[0]["lr"] = lr * (1 - epoch / epochs)
        for index in torch.randperm(len(places.row)).split(at_once):
            optimiser.zero_grad()
            _loss(places.take(index), rows, words, negatives).backward()
            optimiser.step()
    return rows.detach(), Words(words.output.detach(), words.input.detach(), words.chance)


def _loss(places: Places, rows: Tensor, words: Words, negatives: int) -> Tensor:
    """Return the loss of distinguishing the words of a graph from negative samples."""
    share, fixed = _fixed(places, words)
    h = share * (embedding(places.row, rows, sparse=True) + fixed)
    place, word, count = places.pairs()
    there = (h[place] * embedding(word, words.output, sparse=True)).sum(1)
    drawn = h @ embedding(words.negatives(torch.rand(1)), words.output, sparse=True).T
    total = torch.zeros(len(h)).index_add_(0, place, count)
    # The mean over shared samples stands for one sample, and each occurrence of a word has `negatives` of them.
    return (count * softplus(-there)).sum() + negatives * (total * softplus(drawn).mean(1)).sum()


def _fixed(places: Places, words: Words) -> tuple[Tensor, Tensor | float]:
    """Return the ``[P, 1]`` weight of the row in the mean at each place, and the ``[P, D]`` sum of its context."""
    known = places.around >= 0
    share = 1 / (1 + known.sum(1, keepdim=True))
    if not places.around.numel():
        return share, 0.0
    vectors = embedding(places.around.clamp(min=0), words.input, sparse=True)
    return share, (vectors * known.unsqueeze(2)).sum(1)


@torch.no_grad()
def infer(places: Places, num_rows: int, words: Words, *, negatives: int) -> Tensor:
    """Return the ``[R, D]`` vectors of rows for given word vectors; rows without words are zero.

    Uses Nesterov's gradient descent. The step size of a row follows from a bound on the curvature of its own loss, so
    that rows do not depend on each other.
    """
    place, word, count = places.pairs()
    share, _ = _fixed(places, words)
    # A fixed offset in place of a random one: systematic samples of the same words every time.
    drawn = words.negatives(torch.tensor(0.5))
    total = torch.zeros(len(places.row)).index_add_(0, place, count)
    # The slope of a sigmoid is at most 1/4, so the curvature is bounded by a quarter of |w|² for each predicted word
    # and of the largest eigenvalue of the negatives' mean outer product.
    outer = words.output[drawn].T @ words.output[drawn]
    steepest = torch.linalg.eigvalsh(outer.double() / len(drawn))[-1].float()
    squares = (words.output**2).sum(1)
    bend = negatives * total * steepest + torch.zeros_like(total).index_add_(0, place, count * squares[word])
    # h is `share` times the row, so the curvature along the row has the square of the share.
    bound = SHRINKAGE + torch.zeros(num_rows).index_add_(0, places.row, share[:, 0] ** 2 * bend / 4)
    few = len(words.output) <= len(drawn)  # Then scoring every word is no more work than scoring the samples.
    gradient = (_gradient_by_word if few else _gradient_by_pair)(places, words, drawn, negatives)
    v = ahead = torch.zeros(num_rows, words.output.shape[1])
    for step in range(STEPS):
        new = ahead - gradient(ahead) / bound[:, None]
        # Nesterov's momentum for convex functions.
        v, ahead = new, new + step / (step + 3) * (new - v)
    return v


def _gradient_by_pair(places: Places, words: Words, drawn: Tensor, negatives: int) -> Callable[[Tensor], Tensor]:
    """The gradient ``[R, D]`` of the penalised loss: predicted words pull at rows, the ``drawn`` negatives push."""
    place, word, count = places.pairs()
    share, fixed = _fixed(places, words)
    total = torch.zeros(len(places.row)).index_add_(0, place, count)
    output, samples = words.output[word], words.output[drawn]

    def gradient(rows: Tensor) -> Tensor:
        h = share * (rows[places.row] + fixed)
        pull = count * torch.sigmoid(-(h[place] * output).sum(1))
        slope = (negatives * total / len(drawn))[:, None] * (torch.sigmoid(h @ samples.T) @ samples)
        slope.index_add_(0, place, pull[:, None] * output, alpha=-1)
        return (SHRINKAGE * rows).index_add_(0, places.row, share * slope)

    return gradient


def _gradient_by_word(places: Places, words: Words, drawn: Tensor, negatives: int) -> Callable[[Tensor], Tensor]:
    """The same where words are few: a place has W scores, one per word, in place of D coordinates.

    The gradient is a weighted sum of word vectors. The weights are summed over the places of a row before they multiply
    the vectors.
    """
    share, fixed = _fixed(places, words)
    counts = torch.from_numpy(places.counts.toarray()).float()
    drawn_share = torch.bincount(drawn, minlength=len(words.output)) / len(drawn)
    pushed = negatives * counts.sum(1, keepdim=True) * drawn_share
    context = fixed @ words.output.T if isinstance(fixed, Tensor) else 0.0

    def gradient(rows: Tensor) -> Tensor:
        scores = share * ((rows @ words.output.T)[places.row] + context)
        weights = share * (pushed * torch.sigmoid(scores) - counts * torch.sigmoid(-scores))
        summed = torch.zeros(len(rows), len(words.output)).index_add_(0, places.row, weights)
        return SHRINKAGE * rows + summed @ words.output

    return gradient
