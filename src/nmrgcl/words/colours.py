"""Weisfeiler–Lehman colours as dimensions of an embedding."""

import torch
from torch import Tensor
from torch.nn.functional import normalize

from nmrgcl.graphs import Graphs
from nmrgcl.words.wl import mix, wl_labels

ENTRIES = 16
"""In how many dimensions each colour is counted. With one, a dimension of a rare colour has next to no variance, and
scaling each dimension to unit variance, as most judges do, would make rare colours count as much as frequent ones."""


def colour_counts(graphs: Graphs, rounds: int, *, width: int, entries: int = ENTRIES) -> Tensor:
    """``[B, width]`` unit vectors that count the colours of each graph's nodes; zeros for graphs without nodes.

    Each colour counts as +1 or -1 in ``entries`` dimensions given by its hash, so that the expected inner product of
    two rows is the similarity of their graphs by the Weisfeiler–Lehman subtree kernel (Weinberger et al. 2009). Nodes
    with numeric features all start with the same colour.
    """
    graphs = graphs.compact()
    counts = torch.zeros(graphs.num_graphs, width, dtype=torch.float64, device=graphs.device)
    for colours in wl_labels(graphs, rounds):
        word = colours
        for _ in range(entries):
            word = mix(word)
            # Sign and column come from opposite ends of the hash, so that they do not depend on each other.
            sign = torch.where(word < 0, -1.0, 1.0).double()
            counts.index_put_((graphs.batch, word % width), sign, accumulate=True)  # Exact, as all are integers.
    return normalize(counts).float()
