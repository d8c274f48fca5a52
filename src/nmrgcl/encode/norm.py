"""Batch normalisation that does not see removed nodes."""

import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm


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
        share = keep.to(h.dtype)[:, None]
        count = share.sum().clamp(min=1)
        mean = (h * share).sum(0) / count
        var = ((h - mean).square() * share).sum(0) / count
        with torch.no_grad():
            unbiased = var * count / (count - 1).clamp(min=1)
            self.running_mean.lerp_(mean.to(self.running_mean.dtype), self.momentum)
            self.running_var.lerp_(unbiased.to(self.running_var.dtype), self.momentum)
        return (h - mean) * torch.rsqrt(var + self.eps) * self.weight + self.bias
