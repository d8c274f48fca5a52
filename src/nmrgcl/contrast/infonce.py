"""The contrastive loss of the paper (Eq. 14)."""

import warnings
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import logsigmoid

from nmrgcl.contrast.cosine import pair_cosine, unit_rows, widen
from nmrgcl.contrast.fused import fits_fused_loss, fused_loss, kernel_precision
from nmrgcl.contrast.streamed import pair_gradient, pair_logsumexp
from nmrgcl.ops import serve

DENSE_ROWS = 4096
"""Above this many rows the similarity matrix is never held as a whole."""


def infonce(
    z1: Tensor, z2: Tensor, *, positive: Tensor | None = None, delta: float | None = None, tau: float = 0.2
) -> Tensor:
    """Eq. 14: row i of ``z1`` pairs with row i of ``z2`` (``[B, D]`` each).

    Both directions share one positive; each has the other rows of both views as 2(B − 1) negatives. With ``delta`` the
    positive is taken without the dimensions that are prominent in ``z1`` (Eq. 13); ``positive`` (``[B]``) replaces it
    altogether. Either way a removal touches positives only.
    """
    if z1.shape[0] == 1:
        warnings.warn("a batch of one graph has no negatives: its loss is zero and teaches nothing", stacklevel=2)
        return widen(z1[:0]).sum() + widen(z2[:0]).sum()  # 0 whatever the rows hold, and so is the gradient
    if positive is None and fits_fused_loss(z1, z2):
        return fused_loss(z1, z2, delta=delta, tau=tau, counted=True)
    z = unit_rows(torch.cat([widen(z1), widen(z2)]))
    positive = pair_cosine(z1, z2, delta) if positive is None else positive
    positive = torch.cat([positive, positive]) / tau
    if z.shape[0] <= DENSE_ROWS:
        negative = _DenseNegatives.apply(z, tau)
    else:
        negative = _StreamedNegatives.apply(z, tau)
    # −log(e^p / (e^p + e^n)) = −log sigmoid(p − n)
    return -logsigmoid(positive - negative).mean()


def _mask_own_pair(similarity: Tensor) -> Tensor:
    """Both views of a row's own graph are no negatives; ``similarity``: ``[2B, 2B]``, changed in place."""
    rows, both = torch.arange(similarity.shape[0], device=similarity.device), similarity.shape[1]
    own = torch.stack([rows, (rows + both // 2) % both], 1)
    return similarity.scatter_(1, own, -torch.inf)


class _DenseNegatives(torch.autograd.Function):
    """Row-wise log-sum-exp of the masked similarities; one matrix is kept, each row's shares in its sum."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, tau: float) -> Tensor:
        with torch.autocast(z.device.type, enabled=False):
            similarity = (z / tau) @ z.T
        share = _mask_own_pair(similarity)
        largest = share.amax(1, keepdim=True)
        total = share.sub_(largest).exp_().sum(1, keepdim=True)
        share.div_(total)
        ctx.save_for_backward(z, share)
        ctx.tau = tau
        return (total.log_() + largest).squeeze(1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        z, share = ctx.saved_tensors
        on_similarity = share * (grads[0] / ctx.tau)[:, None]
        with torch.autocast(z.device.type, enabled=False):
            return (on_similarity + on_similarity.T) @ z, None


class _StreamedNegatives(torch.autograd.Function):
    """Row-wise log-sum-exp of the masked similarities, in tiles that are computed again in the backward pass."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, tau: float) -> Tensor:
        served = serve(z) and z.dtype == torch.float32
        ctx.tau, ctx.precision = tau, kernel_precision() if served else None
        if ctx.precision is not None:
            from nmrgcl.ops.triton.negatives import negatives_logsumexp

            total = negatives_logsumexp(z, tau, precision=ctx.precision)
        else:
            total = pair_logsumexp(z, tau)
        ctx.save_for_backward(z, total)
        return total

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        z, total = ctx.saved_tensors
        if ctx.precision is not None:
            from nmrgcl.ops.triton.negatives import negatives_gradient

            return negatives_gradient(z, total, grads[0], ctx.tau, precision=ctx.precision), None
        return pair_gradient(z, total, grads[0], ctx.tau), None
