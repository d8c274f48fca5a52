"""Batch norm over some of the rows, for each of two views apart if asked."""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from nmrgcl.ops import across_ranks, serve, widen
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
    training = training and (h.shape[0] > 1 or across_ranks.active())
    if training and across_ranks.active():
        out = _SharedNorm.apply(h, keep, split, norm.weight, norm.bias, norm)
    elif not training or (keep is None and split is None):
        out = _whole(h, norm, training)
    elif serve(h) and KERNEL.on:
        result: Tensor = _KernelNorm.apply(h, keep, split, norm.weight, norm.bias, norm, relu)
        return result
    elif split is None:
        assert keep is not None
        out = _plain(h, norm, keep)
    else:
        # Only the device knows where to split, so rows cannot be sliced: both views normalise all of them.
        second = torch.arange(h.shape[0], device=h.device) >= split
        views = [part if keep is None else part & keep for part in (~second, second)]
        before, after = (_plain(h, norm, view) for view in views)
        out = torch.where(second[:, None], after, before)
    return torch.relu_(out) if relu else out


def _plain(h: Tensor, norm: Norm, keep: Tensor) -> Tensor:
    share = keep.to(h.dtype)[:, None]
    # A view may keep no row at all; the statistics are then zeros instead of NaN.
    count = share.sum().clamp(min=1)
    mean = (h * share).sum(0) / count
    # In two passes: Σ h² / n − μ² would cancel where the mean is large compared with the deviation.
    var = ((h - mean).square() * share).sum(0) / count
    with torch.no_grad():
        # Like nn.BatchNorm1d: the biased variance normalises, the unbiased one is remembered.
        unbiased = var * (count / (count - 1).clamp(min=1))
        norm.running_mean.lerp_(mean.to(norm.running_mean.dtype), norm.momentum)
        norm.running_var.lerp_(unbiased.to(norm.running_var.dtype), norm.momentum)
    return (h - mean) * torch.rsqrt(var + norm.eps) * norm.weight + norm.bias


def _whole(h: Tensor, norm: Norm, training: bool) -> Tensor:
    momentum = norm.momentum if training else 0.0
    return functional.batch_norm(
        h, norm.running_mean, norm.running_var, norm.weight, norm.bias, training, momentum, norm.eps
    )


class Statistics(NamedTuple):
    """Mean and biased variance ``[V, D]`` of the kept rows of V views on all ranks, and their number ``[V, 1]``."""

    mean: Tensor
    var: Tensor
    rows: Tensor


def shared_statistics(h: Tensor, norm: Norm, keep: Tensor | None = None, second: Tensor | None = None) -> Statistics:
    """The statistics of ``h`` ``[N, D]`` over all ranks; updates the running ones.

    The rows where ``second`` (``[N]``) is true are another view. Ranks exchange the number, mean and squared deviations
    of their rows, which add up without a loss of precision (Chan et al. 1979).
    """
    weight = h.new_ones(h.shape[0]) if keep is None else keep.to(h.dtype)
    weights = weight[None] if second is None else torch.stack([weight * ~second, weight * second])
    count = weights.sum(1, keepdim=True)
    mean = weights @ h / count.clamp(min=1)
    deviation = (h - _spread(mean, second)).square()
    every = across_ranks.of_every_rank(torch.cat([count, mean, weights @ deviation], 1))
    counts, means, squares = every.split([1, h.shape[1], h.shape[1]], 2)
    count = counts.sum(0)
    mean = (counts * means).sum(0) / count.clamp(min=1)
    var = (squares.sum(0) + (counts * (means - mean).square()).sum(0)) / count.clamp(min=1)
    unbiased = var * (count / (count - 1).clamp(min=1))
    for view in range(len(mean)):
        norm.running_mean.lerp_(mean[view].to(norm.running_mean.dtype), norm.momentum)
        norm.running_var.lerp_(unbiased[view].to(norm.running_var.dtype), norm.momentum)
    return Statistics(mean, var, count)


def _spread(of_views: Tensor, second: Tensor | None) -> Tensor:
    """``[V, D]`` to the row of each node's view, ``[N, D]`` or ``[D]``."""
    return of_views[0] if second is None else torch.where(second[:, None], of_views[1], of_views[0])


class _SharedNorm(torch.autograd.Function):
    """The norm of ``_KernelNorm``, whose sums over the rows of a view are over the rows on all ranks."""

    @staticmethod
    def forward(
        ctx: Any, h: Tensor, keep: Tensor | None, split: Tensor | None, weight: Tensor, bias: Tensor, norm: Norm
    ) -> Tensor:
        # Under autocast h is bfloat16, which is too coarse for a variance.
        wide = widen(h)
        second = None if split is None else torch.arange(h.shape[0], device=h.device) >= split
        mean, var, count = shared_statistics(wide, norm, keep, second)
        inverse_std = torch.rsqrt(var + norm.eps)
        unit = (wide - _spread(mean, second)) * _spread(inverse_std, second)
        ctx.save_for_backward(unit, inverse_std, count, keep, second, weight)
        return (unit * weight + bias).to(h.dtype)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        unit, inverse_std, count, keep, second, weight = ctx.saved_tensors
        grad = grads[0].to(unit.dtype)
        both = torch.cat([grad, grad * unit], 1)  # Σ g and Σ g x̂ of each view
        own = both.sum(0, keepdim=True) if second is None else torch.stack([both[~second].sum(0), both[second].sum(0)])
        on_mean, on_std = (across_ranks.add_up(own, "statistics") / count.clamp(min=1)).chunk(2, 1)
        pulled = _spread(on_mean, second) + unit * _spread(on_std, second)
        on_h = (grad - (pulled if keep is None else pulled * keep[:, None])) * _spread(weight * inverse_std, second)
        # These stay sums over this rank's rows, because DistributedDataParallel averages the gradients of parameters.
        on_bias, on_weight = own.sum(0).chunk(2)
        return on_h.to(grads[0].dtype), None, None, on_weight.to(weight.dtype), on_bias.to(weight.dtype), None


class _KernelNorm(torch.autograd.Function):
    """``y_i = γ x̂_i + β`` with ``x̂_i = (h_i − μ)/σ`` and μ, σ over the n kept rows of i's view.

    With g = ∂L/∂y, set to zero where a ReLU after the norm is closed, and sums over all rows j of the view,
    ``∂L/∂β = Σ g`` and ``∂L/∂γ = Σ g x̂``, both added over the views. A row h_i acts directly, through
    ``∂μ/∂h_i = keep_i/n`` and through ``∂σ/∂h_i = keep_i/n · x̂_i``, so that

        ∂x̂_j/∂h_i = 1/σ · (δ_ij − keep_i/n · (1 + x̂_i x̂_j))
        ∂L/∂h_i   = Σ_j γ g_j ∂x̂_j/∂h_i = γ/σ · (g_i − keep_i/n · (Σ g + x̂_i Σ g x̂))
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
        # The gradient of one layer's output is often a block of columns of a concatenation's gradient. The kernels take
        # its row stride, so it need not be copied.
        grad = grads[0] if grads[0].stride(1) == 1 else grads[0].contiguous()
        sums = gradient_sums(grad, h, statistics, weight, bias, ctx.eps, split, relu=ctx.relu)
        on_h = pull_back(grad, h, keep, statistics, sums, weight, bias, ctx.eps, split, relu=ctx.relu)
        return on_h, None, None, sums[-1, 1], sums[-1, 0], None, None
