"""The objective of BYOL (Grill et al. 2020), BGRL and SimSiam: predict the other view, without negatives."""

from torch import Tensor

from nmrgcl.contrast.cosine import cosine
from nmrgcl.ops import across_ranks


def bootstrap_loss(p1: Tensor, p2: Tensor, t1: Tensor, t2: Tensor) -> Tensor:
    """Mean over rows of 2 − cos(p1, t2) − cos(p2, t1), ``[B, D]`` each: 0 if every prediction is right, 4 at most.

    Args:
        p1: predictions from the first view of the targets in the second.
        p2: predictions from the second view of the targets in the first.
        t1: targets in the first view; callers detach them, because a gradient would flow into them too.
        t2: targets in the second view.
    """
    return across_ranks.mean(2 - cosine(p1, t2) - cosine(p2, t1))
