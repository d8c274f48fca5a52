"""A GIN layer of few units on a GPU: aggregation, perceptron and norm in four launches, and as many back."""

from typing import Any

import torch
from torch import Tensor

from nmrgcl import ops
from nmrgcl.encode.norm import MaskedBatchNorm
from nmrgcl.graphs import Graphs


def fits_narrow_layer(h: Tensor, graphs: Graphs) -> bool:
    """Whether ``narrow_layer`` can train on ``graphs``: float32, few units, and sums that are their own transpose."""
    if not ops.serve(h) or h.dtype != torch.float32 or not graphs.symmetric or graphs.edge_weight is not None:
        return False
    from nmrgcl.ops.triton.perceptron import NARROWEST, WIDEST

    return NARROWEST <= h.shape[1] <= WIDEST and h.shape[0] > 1


def narrow_layer(
    h: Tensor,
    graphs: Graphs,
    first: Tensor | None,
    first_bias: Tensor,
    second: Tensor,
    second_bias: Tensor,
    norm: MaskedBatchNorm,
) -> Tensor:
    """``norm(ReLU(ReLU(s firstᵀ + first_bias) secondᵀ + second_bias))`` with ``s`` = h + Σ neighbours."""
    result: Tensor = _NarrowLayer.apply(
        h, first, first_bias, second, second_bias, norm.weight, norm.bias, graphs.merge_added(), norm
    )
    return result


class _NarrowLayer(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        h: Tensor,
        first: Tensor | None,
        first_bias: Tensor,
        second: Tensor,
        second_bias: Tensor,
        scale: Tensor,
        shift: Tensor,
        graphs: Graphs,
        norm: MaskedBatchNorm,
    ) -> Tensor:
        from nmrgcl.ops.triton.norm import merge_statistics, normalise
        from nmrgcl.ops.triton.perceptron import Weights, perceive
        from nmrgcl.ops.triton.rows import row_sums

        live = graphs.live_edges if graphs.masked else None
        s = row_sums(h, graphs.edge_index[0], graphs.row_ptr, live, self_weight=1.0)
        weights = Weights(first, first_bias, second, second_bias)
        y, partial = perceive(s, weights, graphs.node_keep, graphs.split)
        statistics = merge_statistics(partial, (norm.running_mean, norm.running_var, norm.momentum))
        ctx.save_for_backward(y, s, statistics, first, first_bias, second, second_bias, scale, shift)
        ctx.graphs, ctx.eps = graphs, norm.eps
        return normalise(y, statistics, scale, shift, norm.eps, graphs.split)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        from nmrgcl.ops.triton.norm import gradient_sums
        from nmrgcl.ops.triton.perceptron import Weights, perceive_back
        from nmrgcl.ops.triton.rows import row_sums

        y, s, statistics, first, first_bias, second, second_bias, scale, shift = ctx.saved_tensors
        graphs: Graphs = ctx.graphs
        grad = grads[0] if grads[0].stride(1) == 1 else grads[0].contiguous()
        sums = gradient_sums(grad, y, statistics, scale, shift, ctx.eps, graphs.split)
        weights = Weights(first, first_bias, second, second_bias)
        out, of = perceive_back(grad, y, s, weights, graphs.node_keep, graphs.split, statistics, sums, scale, ctx.eps)
        # The graph is its own transpose, so the sum over neighbours is its own backward pass.
        live = graphs.live_edges if graphs.masked else None
        out = row_sums(out, graphs.edge_index[0], graphs.row_ptr, live, self_weight=1.0)
        return out, of.first, of.first_bias, of.second, of.second_bias, sums[-1, 1], sums[-1, 0], None, None
