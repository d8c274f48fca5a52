"""Batch norm over some of the rows, for each of two views apart if asked."""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from nmrgcl.ops import serve
from nmrgcl.ops.forms import Form

PLAIN = Form("batch norm", "plain", "training with masked rows, on a CPU")
WHOLE = Form("batch norm", "PyTorch's batch_norm", "evaluation, and training in which every row counts")
KERNEL = Form("batch norm", "Triton kernels", "training with masked rows or two views, on a GPU")
FORMS = (PLAIN, WHOLE, KERNEL)


class Norm(NamedTuple):
    """The parameters (γ, β) and running statistics of a batch norm, ``[D]`` each; training updates the latter."""

    weight: Tensor
    bias: Tensor
    running_mean: Tensor
    running_var: Tensor
    momentum: float
    eps: float


def batch_norm(
    h: Tensor,
    norm: Norm,
    keep: Tensor | None = None,
    split: Tensor | None = None,
    *,
    training: bool,
    relu: bool = False,
) -> Tensor:
    """``γ (h − μ) / √(σ² + eps) + β`` with the statistics of the rows of ``h`` ``[N, D]`` where ``keep`` is true.

    With ``split`` (``[1]``) the rows from there on are another view: they are normalised apart from those before.
    Rows that are not kept come out finite but mean nothing. If ``relu``, the result's ReLU is returned.
    """
    # A single row has no variance to normalise by, so it is treated as in evaluation.
    training = training and h.shape[0] > 1
    if not training or (keep is None and split is None):
        out = _whole(h, norm, training)
    elif serve(h) and KERNEL.on:
        result: Tensor = _KernelNorm.apply(h, keep, split, norm.weight, norm.bias, norm, relu)
        return result
    elif split is None:
        assert keep is not None
        out = _plain(h, norm, keep)
    else:
        second = torch.arange(h.shape[0], device=h.device) >= split
        views = [part if keep is None else part & keep for part in (~second, second)]
        before, after = (_plain(h, norm, view) for view in views)
        out = torch.where(second[:, None], after, before)
    return torch.relu_(out) if relu else out


def _plain(h: Tensor, norm: Norm, keep: Tensor) -> Tensor:
    share = keep.to(h.dtype)[:, None]
    count = share.sum().clamp(min=1)
    mean = (h * share).sum(0) / count
    var = ((h - mean).square() * share).sum(0) / count
    with torch.no_grad():
        unbiased = var * (count / (count - 1).clamp(min=1))
        norm.running_mean.lerp_(mean.to(norm.running_mean.dtype), norm.momentum)
        norm.running_var.lerp_(unbiased.to(norm.running_var.dtype), norm.momentum)
    return (h - mean) * torch.rsqrt(var + norm.eps) * norm.weight + norm.bias


def _whole(h: Tensor, norm: Norm, training: bool) -> Tensor:
    momentum = norm.momentum if training else 0.0
    return functional.batch_norm(
        h, norm.running_mean, norm.running_var, norm.weight, norm.bias, training, momentum, norm.eps
    )


class _KernelNorm(torch.autograd.Function):
    """``y_i = γ x̂_i + β`` with ``x̂_i = (h_i − μ)/σ`` and μ, σ over the n kept rows of i's view.

    With g = ∂L/∂y, set to zero where a ReLU after the norm is closed, and sums over the rows of a view:

        ∂L/∂β = Σ g        ∂L/∂γ = Σ g x̂        (both added over the views)
        ∂L/∂h_i = γ/σ · (g_i − keep_i/n · (Σ g + x̂_i Σ g x̂))
    """

    @staticmethod
    def forward(
        ctx: Any,
        h: Tensor,
        keep: Tensor | None,
        split: Tensor | None,
        weight: Tensor,
        bias: Tensor,
        norm: Norm,
        relu: bool,
    ) -> Tensor:
        from nmrgcl.ops.triton.batch_norm import masked_statistics, normalise

        h = h.contiguous()
        statistics = masked_statistics(h, keep, split, (norm.running_mean, norm.running_var, norm.momentum))
        ctx.save_for_backward(h, keep, split, statistics, weight, bias)
        ctx.eps, ctx.relu = norm.eps, relu
        return normalise(h, statistics, weight, bias, norm.eps, split, relu=relu)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        from nmrgcl.ops.triton.batch_norm import gradient_sums, pull_back

        h, keep, split, statistics, weight, bias = ctx.saved_tensors
        grad = grads[0] if grads[0].stride(1) == 1 else grads[0].contiguous()
        sums = gradient_sums(grad, h, statistics, weight, bias, ctx.eps, split, relu=ctx.relu)
        on_h = pull_back(grad, h, keep, statistics, sums, weight, bias, ctx.eps, split, relu=ctx.relu)
        return on_h, None, None, sums[-1, 1], sums[-1, 0], None, None
