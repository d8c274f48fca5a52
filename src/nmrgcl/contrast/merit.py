"""MERIT's objective (Jin et al. 2021): contrast across views, and with a teacher that follows slowly."""

import torch
from torch import Tensor

from nmrgcl.contrast.cosine import unit_rows
from nmrgcl.ops.similarities import row_logsumexp


def merit_loss(
    z: tuple[Tensor, Tensor], taught: tuple[Tensor, Tensor], *, beta: float = 0.6, tau: float = 1.0
) -> Tensor:
    """``beta`` · cross-view + (1 − ``beta``) · cross-network; ``[B, D]`` each.

    Cross-network: row i of a view finds row i of the teacher's other view among all rows of that view. Cross-view: row
    i of a view finds row i of the other view, once among all rows of the other view and once among those of its own.

    Args:
        z: both views as the trained network sees them.
        taught: both views as the teacher sees them; it has no gradient.
        beta: weight of the cross-view terms.
        tau: temperature.

    Example:
        >>> import torch
        >>> from nmrgcl import merit_loss
        >>> z = torch.eye(4)
        >>> right = merit_loss((z, z), (z, z))
        >>> right < merit_loss((z, z.flip(0)), (z, z.flip(0)))  # the second views are those of other graphs
        tensor(True)
    """
    ours, theirs = ([unit_rows(v) for v in pair] for pair in (z, taught))
    # Cosines are at most 1, so no similarity over τ exceeds the bound, and no row has to be searched for its largest.
    across, bound = (ours[0] * ours[1]).sum(1) / tau, 1 / tau
    networks, views = [], []
    for one, other in ((0, 1), (1, 0)):
        target = theirs[other].detach()
        networks.append(row_logsumexp(ours[one], target, tau, bound=bound) - (ours[one] * target).sum(1) / tau)
        inter = row_logsumexp(ours[one], ours[other], tau, bound=bound) - across
        own = row_logsumexp(ours[one], ours[one], tau, without=(0,), bound=bound)
        views.append(inter + torch.logaddexp(across, own) - across)
    return (beta * (views[0] + views[1]) + (1 - beta) * (networks[0] + networks[1])).mean() / 2
