"""Batch normalisation that does not see removed nodes."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm

from nmrgcl import ops


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

    def forward(
        self, h: Tensor, keep: Tensor | None = None, split: Tensor | None = None, *, relu: bool = False
    ) -> Tensor:
        """``h``: ``[N, D]``, ``keep``: ``[N]``; the ReLU of the result if asked.

        With ``split`` (``[1]``) the rows from there on are normalised apart from those before: they are another view.
        Rows that are not kept come out finite but mean nothing.
        """
        if self.training and ops.serve(h) and (keep is not None or split is not None) and h.shape[0] > 1:
            result: Tensor = _FusedNorm.apply(h, keep, split, self.weight, self.bias, self, relu)
            return result
        if split is not None and self.training:
            row = int(split)
            halves = ((h[:row], _part(keep, slice(row))), (h[row:], _part(keep, slice(row, None))))
            out = torch.cat([self._normalise(*half) for half in halves])
        else:
            out = self._normalise(h, keep)
        return torch.relu_(out) if relu else out

    def _normalise(self, h: Tensor, keep: Tensor | None) -> Tensor:
        # One row has no variance to normalise by: it is treated as in evaluation.
        if not self.training or h.shape[0] < 2:
            return batch_norm(h, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0, self.eps)
        if keep is None:
            return batch_norm(
                h, self.running_mean, self.running_var, self.weight, self.bias, True, self.momentum, self.eps
            )
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
    """Training on a GPU."""

    @staticmethod
    def forward(
        ctx: Any,
        h: Tensor,
        keep: Tensor | None,
        split: Tensor | None,
        weight: Tensor,
        bias: Tensor,
        norm: MaskedBatchNorm,
        relu: bool,
    ) -> Tensor:
        from nmrgcl.ops.triton.norm import masked_statistics, normalise

        h = h.contiguous()
        statistics = masked_statistics(h, keep, split, (norm.running_mean, norm.running_var, norm.momentum))
        ctx.save_for_backward(h, keep, split, statistics, weight, bias)
        ctx.eps, ctx.relu = norm.eps, relu
        return normalise(h, statistics, weight, bias, norm.eps, split, relu=relu)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        from nmrgcl.ops.triton.norm import gradient_sums, pull_back

        h, keep, split, statistics, weight, bias = ctx.saved_tensors
        grad = grads[0] if grads[0].stride(1) == 1 else grads[0].contiguous()
        sums = gradient_sums(grad, h, statistics, weight, bias, ctx.eps, split, relu=ctx.relu)
        out = pull_back(grad, h, keep, statistics, sums, weight, bias, ctx.eps, split, relu=ctx.relu)
        return out, None, None, sums[-1, 1], sums[-1, 0], None, None


def _part(keep: Tensor | None, rows: slice) -> Tensor | None:
    return None if keep is None else keep[rows]
