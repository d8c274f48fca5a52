"""The loss of GraphCL's public code (You et al. 2020), which is not Eq. 14 without its mask."""

import torch
from torch import Tensor

from nmrgcl.contrast.infonce import cosine, unit_rows
from nmrgcl.errors import SettingError


def graphcl_loss(z1: Tensor, z2: Tensor, *, positive: Tensor | None = None, tau: float = 0.2) -> Tensor:
    """One direction, negatives from the other view only, the positive left out of the denominator."""
    if z1.shape[0] < 2:
        raise SettingError("GraphCL's loss needs at least two graphs in a batch; raise train.batch_size")
    positive = (cosine(z1, z2) if positive is None else positive) / tau
    z1, z2 = (unit_rows(z if z.dtype == torch.float64 else z.float()) for z in (z1, z2))
    similarity = (z1 @ z2.T / tau).fill_diagonal_(-torch.inf)
    return (similarity.logsumexp(1) - positive).mean()
