"""GraphMAE's reconstruction error (Hou et al. 2022, Eq. 2)."""

from torch import Tensor

from nmrgcl.contrast.cosine import cosine
from nmrgcl.ops import across_ranks


def scaled_cosine_error(found: Tensor, x: Tensor, chosen: Tensor, *, alpha: float = 2.0) -> Tensor:
    """Mean of ``(1 − cos(found_i, x_i))^alpha`` over the ``chosen`` rows (``[N]``, bool); ``[N, F]`` each.

    The larger ``alpha``, the less rows that are nearly right count. If no row is chosen, the error is 0.
    """
    error = (1 - cosine(found, x)).clamp(min=0).pow(alpha)  # rounding may bring a cosine above one
    return across_ranks.ratio((error * chosen).sum(), chosen.sum())
