"""Count the words of graphs, and choose a vocabulary."""

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from nmrgcl.errors import DataError


def count_words(words: Tensor, batch: Tensor, num_graphs: int) -> tuple[csr_array, np.ndarray]:
    """Return the ``[B, W]`` word counts of the graphs, and the W distinct words, ascending.

    ``words`` and ``batch`` ``[T]`` are the words and their graphs.
    """
    vocabulary, column = np.unique(words.cpu().numpy(), return_inverse=True)
    return count_columns(column, batch.cpu().numpy(), (num_graphs, len(vocabulary))), vocabulary


def count_known(
    words: Tensor, batch: Tensor, num_graphs: int, vocabulary: Tensor, *, times: Tensor | None = None
) -> csr_array:
    """Return the counts of the words in an ascending ``vocabulary``; each occurrence counts ``times`` (default 1)."""
    place = torch.searchsorted(vocabulary, words).clamp(max=max(len(vocabulary) - 1, 0))
    known = vocabulary[place] == words if len(vocabulary) else torch.zeros_like(words, dtype=torch.bool)
    shape = (num_graphs, len(vocabulary))
    each = None if times is None else times[known].cpu().numpy()
    return count_columns(place[known].cpu().numpy(), batch[known].cpu().numpy(), shape, each)


def count_columns(
    column: np.ndarray, row: np.ndarray, shape: tuple[int, int], times: np.ndarray | None = None
) -> csr_array:
    """Return a matrix of ``shape`` that counts how often each pair of row and column occurs."""
    each = np.ones(len(column)) if times is None else times.astype(np.float64)
    return csr_array((each, (row, column)), shape)  # adds up repeated entries


def choose_vocabulary(
    words: Tensor, batch: Tensor, num_graphs: int, *, least_graphs: int, max_words: int, method: str
) -> Tensor:
    """Return the words that occur in at least ``least_graphs`` graphs, ascending; at most ``max_words``."""
    counts, found = count_words(words, batch, num_graphs)
    chosen = found[(counts > 0).sum(0) >= least_graphs]
    if not len(found):
        raise DataError(f"method {method}: these {num_graphs} graphs have no words of this kind; choose other words")
    if not len(chosen):
        raise DataError(
            f"method {method}: no word occurs in {least_graphs} of these {num_graphs} graphs; lower least_graphs"
        )
    if len(chosen) > max_words:
        raise DataError(
            f"method {method}: these graphs have {len(chosen):,} different words, more than max_words = {max_words:,}; "
            "raise least_graphs, or raise max_words if there is enough memory"
        )
    return torch.from_numpy(chosen)
