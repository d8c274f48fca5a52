"""A perceptron with one hidden layer, as projection heads have it."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear, relu

from nmrgcl.ops import serve
from nmrgcl.ops.forms import Form

NARROWEST, WIDEST_LAYER, WIDEST = 16, 64, 128
"""Units for which a program of the kernel can hold the weights. A layer has more rows than a head, so it must also be
fast; that allows fewer units.
"""

PLAIN = Form("MLP", "plain", "on a CPU, and widths that the kernel does not take")
KERNEL = Form("MLP", "Triton kernels", f"heads of {NARROWEST} to {WIDEST} units as wide as their input, on a GPU")
FORMS = (PLAIN, KERNEL)


def mlp(h: Tensor, first: Tensor, first_bias: Tensor, second: Tensor, second_bias: Tensor) -> Tensor:
    """``ReLU(h W1ᵀ + b1) W2ᵀ + b2``: ``[B, in]`` to ``[B, units]``."""
    if _fits_kernel(h, first) and KERNEL.on:
        result: Tensor = _MLP.apply(h, first, first_bias, second, second_bias)
        return result
    return linear(relu(linear(h, first, first_bias)), second, second_bias)


def _fits_kernel(h: Tensor, first: Tensor) -> bool:
    """On a GPU each product, bias and ReLU of so few units would take longer to launch than to compute."""
    if not serve(h) or h.dtype != torch.float32 or h.stride(1) != 1:
        return False
    return first.shape[0] == first.shape[1] and NARROWEST <= first.shape[0] <= WIDEST


class _MLP(torch.autograd.Function):
    """The backward pass is derived in ``ops/triton/mlp.py``."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, first: Tensor, first_bias: Tensor, second: Tensor, second_bias: Tensor) -> Tensor:
        from nmrgcl.ops.triton.mlp import Weights, mlp

        ctx.save_for_backward(h, first, first_bias, second, second_bias)
        return mlp(h, Weights(first, first_bias, second, second_bias))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        from nmrgcl.ops.triton.mlp import Weights, mlp_back

        h, *weights = ctx.saved_tensors
        grad = grads[0] if grads[0].stride(1) == 1 else grads[0].contiguous()
        on_h, on = mlp_back(grad, h, Weights(*weights))
        return on_h, on.first, on.first_bias, on.second, on.second_bias
