"""CuCo's objective (Chu et al. 2021): negatives of a chosen difficulty."""

import torch
from torch import Tensor

from nmrgcl.contrast.cosine import cosine, unit_rows
from nmrgcl.ops import across_ranks, full_precision


def ranked_negatives(z: Tensor, bank: Tensor, own: Tensor, ranks: Tensor) -> Tensor:
    """``[B, K]`` cosines of each row of ``z`` with those rows of ``bank`` that have the given ``ranks``.

    For each row of ``z`` the rows of the bank are ranked from the least similar, which has rank 0, to the most similar.
    The row of the graph itself takes no part.

    Args:
        z: ``[B, D]``.
        bank: ``[N, D]``, without a gradient.
        own: ``[B]`` the row of the bank that shows the same graph as each row of ``z``.
        ranks: ``[K]``, each from 0 to N − 2.
    """
    z, bank = unit_rows(z), unit_rows(bank)
    # In bfloat16 many negatives would tie, and their order decides which of them count.
    with full_precision(z):
        similarity = z @ bank.T
    with torch.no_grad():
        # Ranked last, where no rank from 0 to N − 2 finds it.
        order = similarity.scatter(1, own[:, None], torch.inf).argsort(1)
    # The choice has no gradient, but the cosines that are chosen have.
    return similarity.gather(1, order.index_select(1, ranks))


def ranked_loss(z1: Tensor, z2: Tensor, negatives: Tensor, *, tau: float = 0.2) -> Tensor:
    """Mean of −log of the share that row i's own pair has in the sum over itself and its ``negatives`` (``[B, K]``)."""
    positive = cosine(z1, z2)[:, None]
    each = (torch.cat([positive, negatives], 1) / tau).logsumexp(1).sub(positive.squeeze(1) / tau)
    return across_ranks.mean(each)
