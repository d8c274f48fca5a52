"""The contrastive losses on a GPU: a dozen launches, gradient included, and never a matrix of all similarities."""

from typing import Any, Literal

import torch
from torch import Tensor

from nmrgcl.ops import serve


def fits_fused_loss(z1: Tensor, z2: Tensor) -> bool:
    """Whether ``fused_loss`` takes them."""
    if not serve(z1) or torch.float64 in (z1.dtype, z2.dtype):
        return False
    from nmrgcl.ops.triton.pairs import WIDEST

    return z1.shape[1] <= WIDEST and z1.shape[0] > 1


def fused_loss(z1: Tensor, z2: Tensor, *, delta: float | None, tau: float, counted: bool) -> Tensor:
    """``infonce`` (``counted``: the positive is a term of its own denominator) or ``graphcl_loss``."""
    result: Tensor = _FusedLoss.apply(z1, z2, delta, tau, counted)
    return result


class _FusedLoss(torch.autograd.Function):
    """The gradient of a scalar is known up to a factor once the scalar is: it is computed right away."""

    @staticmethod
    def forward(ctx: Any, z1: Tensor, z2: Tensor, delta: float | None, tau: float, counted: bool) -> Tensor:
        from nmrgcl.ops.triton.negatives import negatives_gradient, negatives_logsumexp
        from nmrgcl.ops.triton.pairs import pair_loss, unit_pairs, unit_pairs_back

        z1, z2 = (z if z.stride(1) == 1 else z.contiguous() for z in (z1, z2))
        unit, positive = unit_pairs(z1, z2, delta)
        precision = kernel_precision()
        total = negatives_logsumexp(unit, tau, precision=precision, across=not counted)
        loss, pull = pair_loss(positive, total, tau, counted=counted)
        if any(ctx.needs_input_grad[:2]):
            of_unit = negatives_gradient(unit, total, pull, tau, precision=precision, across=not counted)
            ctx.save_for_backward(unit_pairs_back(of_unit, pull, z1, z2, delta, tau))
            ctx.dtypes = z1.dtype, z2.dtype
        return loss

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (grad,) = ctx.saved_tensors
        g1, g2 = (grad * grads[0]).chunk(2)
        return g1.to(ctx.dtypes[0]), g2.to(ctx.dtypes[1]), None, None, None


def kernel_precision() -> Literal["tf32x3", "tf32"]:
    """How exactly the kernels are to multiply: as PyTorch is told to do."""
    return "tf32x3" if torch.get_float32_matmul_precision() == "highest" else "tf32"
