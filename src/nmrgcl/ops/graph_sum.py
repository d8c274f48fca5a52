"""The sum over each graph's nodes, of which every readout but ``max`` is made."""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from nmrgcl.ops.rows import row_sums, spread_rows

if TYPE_CHECKING:
    from nmrgcl.graphs import Graphs


def graph_sum(h: Tensor, graphs: "Graphs") -> Tensor:
    """``[B, D]`` sum of ``h`` (``[N, D]``) over each graph's kept nodes; a graph without nodes gives zeros."""
    result: Tensor = _GraphSum.apply(h, graphs)
    return result


class _GraphSum(torch.autograd.Function):
    """Nodes of a graph are contiguous, so its sum is that of a range of rows.

    Backwards every kept node gets a copy of its graph's gradient.
    """

    @staticmethod
    def forward(ctx: Any, h: Tensor, graphs: "Graphs") -> Tensor:
        ctx.graphs = graphs
        return row_sums(h, None, graphs.node_ptr, graphs.node_keep)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return spread_rows(grads[0], ctx.graphs.batch, ctx.graphs.node_keep), None
