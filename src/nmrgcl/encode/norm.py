"""Batch normalisation that does not see removed nodes."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm

from nmrgcl import kernels


class MaskedBatchNorm(nn.Module):
    """Batch norm over the rows where ``keep`` is true; without ``keep`` it is ``nn.BatchNorm1d``."""

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, units: int, *, momentum: float = 0.1, eps: float = 1e-5) -> None:
        super().__init__()
        self.momentum, self.eps = momentum, eps
        self.weight = nn.Parameter(torch.ones(units))
        self.bias = nn.Parameter(torch.zeros(units))
        self.register_buffer("running_mean", torch.zeros(units))
        self.register_buffer("running_var", torch.ones(units))

    def forward(self, h: Tensor, keep: Tensor | None = None) -> Tensor:
        """``h``: ``[N, D]``, ``keep``: ``[N]``. Rows that are not kept come out finite but mean nothing."""
        # One row has no variance to normalise by: it is treated as in evaluation.
        if not self.training or h.shape[0] < 2:
            return batch_norm(h, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0, self.eps)
        if keep is None:
            return batch_norm(
                h, self.running_mean, self.running_var, self.weight, self.bias, True, self.momentum, self.eps
            )
        if kernels.serve(h):
            out, mean, var, count = _FusedNorm.apply(h, keep, self.weight, self.bias, self.eps)
            self._remember(mean, var, count)
            return out
        share = keep.to(h.dtype)[:, None]
        count = share.sum().clamp(min=1)
        mean = (h * share).sum(0) / count
        var = ((h - mean).square() * share).sum(0) / count
        self._remember(mean, var, count)
        return (h - mean) * torch.rsqrt(var + self.eps) * self.weight + self.bias

    @torch.no_grad()
    def _remember(self, mean: Tensor, var: Tensor, count: Tensor) -> None:
        unbiased = var * (count / (count - 1).clamp(min=1))
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), self.momentum)
        self.running_var.lerp_(unbiased.to(self.running_var.dtype), self.momentum)


class _FusedNorm(torch.autograd.Function):
    """The masked case on a GPU; the statistics that come with it are for remembering, not for gradients."""

    @staticmethod
    def forward(
        ctx: Any, h: Tensor, keep: Tensor, weight: Tensor, bias: Tensor, eps: float
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        from nmrgcl.kernels.norm import masked_statistics, normalise

        h = h.contiguous()
        mean, var, count = masked_statistics(h, keep)
        rstd = torch.rsqrt(var + eps)
        ctx.save_for_backward(h, keep, mean, rstd, count, weight)
        ctx.mark_non_differentiable(mean, var, count)
        return normalise(h, mean, rstd, weight, bias), mean, var, count

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, Tensor, Tensor, None]:
        from nmrgcl.kernels.norm import normalise_backward

        h, keep, mean, rstd, count, weight = ctx.saved_tensors
        out, of_weight, of_bias = normalise_backward(grads[0].contiguous(), h, keep, mean, rstd, count, weight)
        return out, None, of_weight, of_bias, None
