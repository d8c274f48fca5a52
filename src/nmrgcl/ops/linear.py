"""The linear map with ReLU of the wide molecular layers."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from nmrgcl.ops import serve
from nmrgcl.ops.forms import Form

PLAIN = Form("linear map", "plain", "on a CPU")
FUSED = Form("linear map", "ReLU inside the product", "on a GPU")
FORMS = (PLAIN, FUSED)

STEP = 8
"""bfloat16 numbers in 16 bytes."""


def aligned_width(units: int) -> int:
    """``units`` rounded up to a width that a GPU multiplies fast: rows should begin at multiples of 16 bytes.

    On an H200 a bfloat16 product of 27,000 rows of 300 and 600 units takes 80 µs, because a row of 300 has 600 bytes;
    with four columns of zeros more it takes 30 µs.
    """
    return -(-units // STEP) * STEP


def linear_relu(h: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """``ReLU(h Wᵀ + b)``: ``[N, in]``, ``[out, in]`` and ``[out]`` to ``[N, out]``."""
    if serve(h) and FUSED.on:
        result: Tensor = _LinearReLU.apply(h, weight, bias)
        return result
    return functional.relu(functional.linear(h, weight, bias))


class _LinearReLU(torch.autograd.Function):
    """``out = ReLU(h Wᵀ + b)`` in the precision of h.

    With P = ∂L/∂out where out > 0, else 0: ``∂L/∂h = P W``, ``∂L/∂W = Pᵀ h`` and ``∂L/∂b = Σ_i P_i``. One kernel
    computes P and its sum.
    """

    @staticmethod
    def forward(ctx: Any, h: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        own = weight.to(h.dtype)
        out = torch._addmm_activation(bias.to(h.dtype), h, own.T)  # bias and ReLU are the product's last step
        ctx.save_for_backward(h, own, out)
        ctx.types = weight.dtype, bias.dtype
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        from nmrgcl.ops.triton.linear import relu_back

        h, weight, out = ctx.saved_tensors
        passed, total = relu_back(grads[0].contiguous(), out)
        of_weight, of_bias = ctx.types
        return passed @ weight, (passed.T @ h).to(of_weight), total.to(of_bias)
