"""Rows of unit length, and the cosine of pairs of rows."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from nmrgcl.contrast.removal import non_maximum
from nmrgcl.ops import SHORTEST, widen


def cosine(a: Tensor, b: Tensor) -> Tensor:
    """``[B]`` cosine of each pair of rows, in float32 or wider; that of a zero row is the constant 0.

    Example:
        >>> import torch
        >>> from nmrgcl import cosine
        >>> cosine(torch.tensor([[1.0, 0.0], [3.0, 4.0]]), torch.tensor([[2.0, 0.0], [5.0, 0.0]]))
        tensor([1.0000, 0.6000])
    """
    return (unit_rows(a) * unit_rows(b)).sum(1)


def pair_cosine(z1: Tensor, z2: Tensor, delta: float | None) -> Tensor:
    """``[B]`` cosine of each pair of rows; with ``delta``, without the dimensions that are prominent in ``z1``."""
    return cosine(z1, z2 if delta is None else z2 * non_maximum(z1, delta))


def unit_rows(z: Tensor) -> Tensor:
    """``z`` with rows of length 1, in float32 or wider.

    A row no longer than ``SHORTEST`` counts as zero: it has no direction, so its unit form is the constant 0 and its
    gradient is exactly 0.
    """
    result: Tensor = _UnitRows.apply(widen(z))
    return result


class _UnitRows(torch.autograd.Function):
    """PyTorch's own backward pass goes through that of the norm, in four times as many operations.

    For u = z / |z| and g = ∂ℓ/∂u: ∂u/∂z = (I − u uᵀ) / |z|, which is symmetric, so ∂ℓ/∂z = (g − (g · u) u) / |z|.
    """

    @staticmethod
    def forward(ctx: Any, z: Tensor) -> Tensor:
        length = torch.linalg.vector_norm(z, dim=1, keepdim=True)
        # Divided by infinity, a zero row and its gradient become 0, and all other rows stay as they are.
        length.masked_fill_(length <= SHORTEST, torch.inf)
        unit = z / length
        ctx.save_for_backward(unit, length)
        return unit

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        unit, length = ctx.saved_tensors
        along = (grads[0] * unit).sum(1, keepdim=True)
        return torch.addcmul(grads[0], unit, along, value=-1.0).div_(length)
