"""Messages made of a neighbour's embedding and of the features of the edge that it comes along."""

from typing import Any

import torch
from torch import Tensor

from nmrgcl.encode.aggregate import edge_shares, row_sums, transposed
from nmrgcl.graphs import Graphs


def message_sum(h: Tensor, e: Tensor, graphs: Graphs) -> Tensor:
    """``[N, D]``: for each node Σ ReLU(h_u + e_uv) over its in-neighbours (Hu et al. 2020).

    ``h`` is ``[N, D]`` and ``e`` ``[E, D]``, one row per edge of ``graphs``, which have no added edges left to merge.
    Edges that are gone send nothing, and the weight of an edge multiplies its message. Sums are taken row by row,
    forward and back, so that their order is fixed.
    """
    result: Tensor = _MessageSum.apply(h, e, edge_shares(graphs), graphs)
    return result


class _MessageSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, e: Tensor, weight: Tensor | None, graphs: Graphs) -> Tensor:
        message = (h.index_select(0, graphs.edge_index[0]) + e).relu_()
        ctx.save_for_backward(message, weight)
        ctx.graphs, ctx.types = graphs, (h.dtype, e.dtype)
        return row_sums(message, torch.arange(graphs.num_edges, device=h.device), graphs.row_ptr, weight)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        graphs, (message, weight) = ctx.graphs, ctx.saved_tensors
        at_end = grads[0].index_select(0, graphs.edge_index[1])
        on_weight = (message * at_end).sum(1).to(weight.dtype) if ctx.needs_input_grad[2] else None
        on_message = at_end * (message > 0)
        if weight is not None:
            on_message = on_message * weight.to(on_message.dtype)[:, None]
        _, by_source, edge = transposed(graphs)
        on_h = row_sums(on_message, edge, by_source, None)
        return on_h.to(ctx.types[0]), on_message.to(ctx.types[1]), on_weight, None
