"""Projection heads: used while pre-training, thrown away after."""

from typing import Any

import torch
from torch import Tensor, nn

from nmrgcl import ops
from nmrgcl.encode.norm import MaskedBatchNorm
from nmrgcl.errors import SettingError

FEWEST_ROWS = 2
"""That batch norm can tell from their mean."""


class Head(nn.Sequential):
    """Linear, ``activation``, Linear; as wide as its input unless ``units`` says otherwise."""

    def __init__(self, width: int, units: int | None = None, activation: type[nn.Module] = nn.ReLU) -> None:
        units = units or width
        super().__init__(nn.Linear(width, units), activation(), nn.Linear(units, units))
        for module in self:
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)

    def forward(self, r: Tensor) -> Tensor:
        """``[B, width]`` to ``[B, units]``."""
        weights = list(self.parameters())
        if type(self[1]) is nn.ReLU and _fits_projection(r, weights[0]):
            result: Tensor = _Projection.apply(r, *weights)
            return result
        out: Tensor = super().forward(r)
        return out


class NormedHead(nn.Sequential):
    """Linear maps to ``widths`` in turn, with batch norm and ReLU between; ``norm_last``: batch norm at the end."""

    def __init__(self, width: int, *widths: int, norm_last: bool = False) -> None:
        parts: list[nn.Module] = []
        for before, after in zip((width, *widths), widths, strict=False):
            linear = nn.Linear(before, after)
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)
            parts += [linear, MaskedBatchNorm(after), nn.ReLU()]
        super().__init__(*(parts[:-1] if norm_last else parts[:-2]))

    def forward(self, r: Tensor) -> Tensor:
        """``[B, width]`` to ``[B, widths[-1]]``."""
        if self.training and r.shape[0] < FEWEST_ROWS:
            raise SettingError("batch norm in the head needs at least two graphs in a batch; raise train.batch_size")
        out: Tensor = super().forward(r)
        return out


class ResidualHead(nn.Module):
    """Three times Linear and ReLU, plus a linear map of the input (InfoGraph, Sun et al. 2020); all as wide as it."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.deep = nn.Sequential(*(part for _ in range(3) for part in (nn.Linear(width, width), nn.ReLU())))
        self.shortcut = nn.Linear(width, width)
        for module in (*self.deep, self.shortcut):
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)

    def forward(self, r: Tensor) -> Tensor:
        """``[B, width]`` to ``[B, width]``."""
        out: Tensor = self.deep(r) + self.shortcut(r)
        return out


def _fits_projection(r: Tensor, weight: Tensor) -> bool:
    """Few units, as many as there are inputs, on a GPU, where each product, bias and ReLU would be launched alone."""
    if not ops.serve(r) or r.dtype != torch.float32 or weight.shape[0] != weight.shape[1] or r.stride(1) != 1:
        return False
    from nmrgcl.ops.triton.perceptron import NARROWEST, WIDEST_HEAD

    return NARROWEST <= weight.shape[0] <= WIDEST_HEAD


class _Projection(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, r: Tensor, first: Tensor, first_bias: Tensor, second: Tensor, second_bias: Tensor) -> Tensor:
        from nmrgcl.ops.triton.perceptron import Weights, project

        ctx.save_for_backward(r, first, first_bias, second, second_bias)
        return project(r, Weights(first, first_bias, second, second_bias))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        from nmrgcl.ops.triton.perceptron import Weights, project_back

        r, *weights = ctx.saved_tensors
        grad = grads[0] if grads[0].stride(1) == 1 else grads[0].contiguous()
        out, of = project_back(grad, r, Weights(*weights))
        return out, of.first, of.first_bias, of.second, of.second_bias
