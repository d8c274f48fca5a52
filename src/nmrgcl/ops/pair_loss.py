"""Contrastive losses of pairs in a dozen launches, gradient included, without a matrix of all similarities.

The plain form of such a loss is the loss itself, in ``nmrgcl.contrast``. ``fused`` replaces it on a GPU.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol

import torch
from torch import Tensor

from nmrgcl.ops import across_ranks, serve
from nmrgcl.ops.forms import Form
from nmrgcl.ops.negatives import kernel_precision

PLAIN = Form("pair loss", "plain", "on a CPU, in float64, with a given positive, and on several ranks")
KERNEL = Form("pair loss", "Triton kernels", "up to 4096 units, on a GPU")
FORMS = (PLAIN, KERNEL)


class PairLoss(Protocol):
    """A loss of the pairs that row i of ``z1`` forms with row i of ``z2`` (``[B, D]`` each)."""

    def __call__(
        self,
        z1: Tensor,
        z2: Tensor,
        *,
        positive: Tensor | None = None,
        delta: float | None = None,
        tau: float = 0.2,
    ) -> Tensor:
        """The loss; ``nmrgcl.contrast.infonce`` says what the options mean."""


def fused(*, counted: bool) -> Callable[[PairLoss], PairLoss]:
    """Let kernels compute a loss where they can; they give the same value and the same gradient.

    If ``counted``, the positive is a term of its own denominator and both directions count (Eq. 14). Otherwise the
    positive is left out, negatives come from the other view only, and one direction counts (GraphCL's loss).
    """

    def decorate(plain: PairLoss) -> PairLoss:
        @wraps(plain)
        def loss(
            z1: Tensor, z2: Tensor, *, positive: Tensor | None = None, delta: float | None = None, tau: float = 0.2
        ) -> Tensor:
            if positive is None and KERNEL.on and _fits(z1, z2):
                return fused_loss(z1, z2, delta=delta, tau=tau, counted=counted)
            return plain(z1, z2, positive=positive, delta=delta, tau=tau)

        return loss

    return decorate


def _fits(z1: Tensor, z2: Tensor) -> bool:
    if not serve(z1) or torch.float64 in (z1.dtype, z2.dtype) or across_ranks.active():
        return False
    from nmrgcl.ops.triton.pair_loss import WIDEST

    return z1.shape[1] <= WIDEST and z1.shape[0] > 1


def fused_loss(z1: Tensor, z2: Tensor, *, delta: float | None, tau: float, counted: bool) -> Tensor:
    """The loss by kernels; ``fused`` says what ``counted`` means."""
    result: Tensor = _FusedLoss.apply(z1, z2, delta, tau, counted)
    return result


class _FusedLoss(torch.autograd.Function):
    """The gradient of a scalar is known up to a factor once the scalar is, so it is computed right away.

    Let p_i = cos(z1_i, z2_i ⊙ mask_i) / τ, L_i the logarithm of the sum over the negatives of row i, d_i = L_i − p_i.
    The loss is the mean of log(1 + exp d_i) if ``counted``, else of d_i. Its slope q_i by L_i (``pull`` below) is
    σ(d_i) / 2B or 1 / B, and −q_i by p_i. Both views share p_i, so it receives −(q_i + q_{i+B}). The rest is the chain
    rule through L (``nmrgcl.ops.negatives``) and through the unit length of rows (``nmrgcl.contrast.cosine``).
    """

    @staticmethod
    def forward(ctx: Any, z1: Tensor, z2: Tensor, delta: float | None, tau: float, counted: bool) -> Tensor:
        from nmrgcl.ops.triton.negatives import negatives_gradient, negatives_logsumexp
        from nmrgcl.ops.triton.pair_loss import pair_loss, unit_pairs, unit_pairs_back

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
