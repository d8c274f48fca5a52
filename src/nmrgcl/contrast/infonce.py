"""The contrastive loss of the paper (Eq. 14)."""

import warnings
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, normalize

from nmrgcl.contrast.streamed import pair_gradient, pair_logsumexp
from nmrgcl.kernels import serve

DENSE_ROWS = 4096
"""Above this many rows the similarity matrix is never held as a whole."""


def cosine(a: Tensor, b: Tensor) -> Tensor:
    """``[B]`` cosine of each pair of rows, in float32 or wider; that of a zero row is 0."""
    a, b = _wide(a), _wide(b)
    return (normalize(a, eps=1e-12) * normalize(b, eps=1e-12)).sum(1)


def infonce(z1: Tensor, z2: Tensor, *, positive: Tensor | None = None, tau: float = 0.2) -> Tensor:
    """Eq. 14: row i of ``z1`` pairs with row i of ``z2`` (``[B, D]`` each).

    Both directions share one positive; each has the other rows of both views as 2(B − 1) negatives. ``positive``
    (``[B]``) replaces the cosine of each pair, so that a removal mask touches positives only.
    """
    if z1.shape[0] == 1:
        warnings.warn("a batch of one graph has no negatives: its loss is zero and teaches nothing", stacklevel=2)
        return 0.0 * (z1.sum() + z2.sum())
    z = normalize(torch.cat([_wide(z1), _wide(z2)]), eps=1e-12)
    positive = cosine(z1, z2) if positive is None else positive
    positive = (positive / tau).repeat(2)
    if z.shape[0] <= DENSE_ROWS:
        negative = _mask_own_pair(z @ z.T / tau).logsumexp(1)
    else:
        negative = _StreamedNegatives.apply(z, tau)
    # −log(e^p / (e^p + e^n)) = −log sigmoid(p − n)
    return -logsigmoid(positive - negative).mean()


def _wide(z: Tensor) -> Tensor:
    return z if z.dtype == torch.float64 else z.float()


def _mask_own_pair(similarity: Tensor) -> Tensor:
    """Both views of a row's own graph are no negatives; ``similarity``: ``[2B, 2B]``, changed in place."""
    rows, both = torch.arange(similarity.shape[0], device=similarity.device), similarity.shape[1]
    own = torch.stack([rows, (rows + both // 2) % both], 1)
    return similarity.scatter_(1, own, -torch.inf)


class _StreamedNegatives(torch.autograd.Function):
    """Row-wise log-sum-exp of the masked similarities, in tiles that are computed again in the backward pass."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, tau: float) -> Tensor:
        ctx.tau, ctx.precision = tau, _kernel_precision(z)
        if ctx.precision is not None:
            from nmrgcl.kernels.negatives import negatives_logsumexp

            total = negatives_logsumexp(z, tau, precision=ctx.precision)
        else:
            total = pair_logsumexp(z, tau)
        ctx.save_for_backward(z, total)
        return total

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        z, total = ctx.saved_tensors
        if ctx.precision is not None:
            from nmrgcl.kernels.negatives import negatives_gradient

            return negatives_gradient(z, total, grads[0], ctx.tau, precision=ctx.precision), None
        return pair_gradient(z, total, grads[0], ctx.tau), None


def _kernel_precision(z: Tensor) -> Literal["tf32x3", "tf32"] | None:
    """How exactly the kernels are to multiply: as PyTorch is told to do; None where they do not serve."""
    if not serve(z) or z.dtype != torch.float32:
        return None
    return "tf32x3" if torch.get_float32_matmul_precision() == "highest" else "tf32"
