"""The sum over each graph's nodes, of which every readout but ``max`` is made."""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from nmrgcl.ops.rows import row_sums, spread_rows

if TYPE_CHECKING:
    from nmrgcl.graphs import Graphs


LARGE = 256
"""Graphs of more nodes on average are summed in parts, because some of them have thousands."""


def graph_sum(h: Tensor, graphs: "Graphs") -> Tensor:
    """``[B, D]`` sum of ``h`` (``[N, D]``) over each graph's kept nodes; a graph without nodes gives zeros."""
    result: Tensor = _GraphSum.apply(h, graphs)
    return result


class _GraphSum(torch.autograd.Function):
    """``out_g = Σ_{i in g} keep_i h_i``; nodes of a graph are contiguous, so it is the sum of a range of rows.

    Every kept node has weight 1 in its graph's sum: ``∂L/∂h_i = keep_i · ∂L/∂out_g(i)``.
    """

    @staticmethod
    def forward(ctx: Any, h: Tensor, graphs: "Graphs") -> Tensor:
        ctx.graphs = graphs
        ends = graphs.batch if graphs.num_nodes > LARGE * graphs.num_graphs else None
        return row_sums(h, None, graphs.node_ptr, graphs.node_keep, ends=ends)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return spread_rows(grads[0], ctx.graphs.batch, ctx.graphs.node_keep), None
