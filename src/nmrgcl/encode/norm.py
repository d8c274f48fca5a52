"""Batch norm that ignores removed nodes."""

import torch
from torch import Tensor, nn

from nmrgcl.ops.batch_norm import Norm, batch_norm


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
        """``[N, D]`` to ``[N, D]``; ``keep``, ``split`` and ``relu`` are those of ``ops.batch_norm``."""
        return batch_norm(h, self.parts, keep, split, training=self.training, relu=relu)

    @property
    def parts(self) -> Norm:
        """Parameters and running statistics."""
        return Norm(self.weight, self.bias, self.running_mean, self.running_var, self.momentum, self.eps)
