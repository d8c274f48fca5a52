"""CCA-SSG's objective (Zhang et al. 2021): two views agree in every dimension, and dimensions are uncorrelated."""

from torch import Tensor

from nmrgcl.ops import full_precision, widen


def cca_loss(z1: Tensor, z2: Tensor, *, decorrelate: float = 1e-3) -> Tensor:
    """``−Σ_d corr(z1_d, z2_d) + decorrelate · (‖I − C1‖² + ‖I − C2‖²)``, where C holds the correlations within a view.

    ``z1`` and ``z2`` (``[B, D]``) are standardised over their rows. A constant column has no correlations: it counts as
    zero, and so does its gradient. There are no negatives, so memory does not grow with B².

    Example:
        >>> import torch
        >>> from nmrgcl import cca_loss
        >>> z = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])  # two columns that do not correlate
        >>> cca_loss(z, z)
        tensor(-2.)
    """
    z1, z2 = (_standardised(z) for z in (z1, z2))
    count = z1.shape[0]
    agreement = (z1 * z2).sum() / count
    with full_precision(z1):
        excess = sum(_from_identity(z.T @ z / count) for z in (z1, z2))
    return decorrelate * excess - agreement


def _standardised(z: Tensor) -> Tensor:
    z = widen(z)
    # Rounding in the mean leaves a constant column with a variance, which would be scaled up to correlations of ±1.
    constant = z.amax(0) == z.amin(0)
    z = z - z.mean(0)
    # 1e-12 keeps the slope of rsqrt finite: in a masked column, 0 · ∞ would make the gradient NaN.
    return z * (z.square().mean(0) + 1e-12).rsqrt().masked_fill(constant, 0.0)


def _from_identity(c: Tensor) -> Tensor:
    """``‖I − c‖²`` without the identity."""
    return c.square().sum() - 2 * c.diagonal().sum() + c.shape[0]
