"""The contrastive loss of the paper (Eq. 14)."""

import warnings

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from nmrgcl.contrast.cosine import pair_cosine, unit_rows
from nmrgcl.ops import across_ranks, widen
from nmrgcl.ops.negatives import negatives_logsumexp
from nmrgcl.ops.pair_loss import fused


@fused(counted=True)
def infonce(
    z1: Tensor, z2: Tensor, *, positive: Tensor | None = None, delta: float | None = None, tau: float = 0.2
) -> Tensor:
    """Eq. 14: row i of ``z1`` pairs with row i of ``z2`` (``[B, D]`` each).

    Both directions share one positive; each has the other rows of both views as 2(B − 1) negatives. With ``delta`` the
    positive is taken without the dimensions that are prominent in ``z1`` (Eq. 13); ``positive`` (``[B]``) replaces it
    altogether. Either way a removal touches positives only.

    Example:
        >>> import torch
        >>> from nmrgcl import infonce
        >>> z = torch.eye(2)  # both views agree, and the two graphs are orthogonal
        >>> infonce(z, z, tau=1.0)  # log(1 + 2 / e)
        tensor(0.5514)
    """
    if across_ranks.count_rows(z1.shape[0]) == 1:
        warnings.warn("a batch of one graph has no negatives: its loss is zero and teaches nothing", stacklevel=3)
        return widen(z1[:0]).sum() + widen(z2[:0]).sum()  # 0 whatever the rows hold, and so is the gradient
    # Negatives are never masked, so they come from the whole rows.
    z = unit_rows(torch.cat([widen(z1), widen(z2)]))
    positive = pair_cosine(z1, z2, delta) if positive is None else positive
    positive = torch.cat([positive, positive]) / tau
    negative = negatives_logsumexp(z, tau)
    # −log(e^p / (e^p + e^n)) = −log sigmoid(p − n)
    # The mean over 2B rows is the factor 1/(2B) of Eq. 14; logsigmoid does not overflow where exponentials would.
    return -across_ranks.mean(logsigmoid(positive - negative))
