"""The loss of GraphCL's public code (You et al. 2020), which is not Eq. 14 without its mask."""

import torch
from torch import Tensor

from nmrgcl.contrast.cosine import pair_cosine, unit_rows
from nmrgcl.errors import SettingError
from nmrgcl.ops import across_ranks, full_precision
from nmrgcl.ops.pair_loss import fused


@fused(counted=False)
def graphcl_loss(
    z1: Tensor, z2: Tensor, *, positive: Tensor | None = None, delta: float | None = None, tau: float = 0.2
) -> Tensor:
    """One direction, negatives from the other view only, the positive left out of the denominator.

    The arguments are those of ``infonce``.

    Example:
        >>> import torch
        >>> from nmrgcl import graphcl_loss
        >>> z = torch.eye(2)  # both views agree, and the two graphs are orthogonal
        >>> graphcl_loss(z, z, tau=1.0)  # -log(e / 1)
        tensor(-1.)
    """
    # Without the positive, the denominator of a single graph is empty and its logarithm −∞.
    if across_ranks.count_rows(z1.shape[0]) < 2:
        raise SettingError("GraphCL's loss needs at least two graphs in a batch; raise train.batch_size")
    positive = (pair_cosine(z1, z2, delta) if positive is None else positive) / tau
    z1, z2 = unit_rows(z1), unit_rows(z2)
    with full_precision(z1):
        similarity = z1 @ across_ranks.gather(z2).T / tau
    # Positives are on the diagonal of the block of this rank's graphs, a view of `similarity`.
    own = similarity.narrow(1, across_ranks.first_row(), z1.shape[0]) if across_ranks.active() else similarity
    own.fill_diagonal_(-torch.inf)
    return across_ranks.mean(similarity.logsumexp(1) - positive)
