"""Messages that depend on a neighbour's embedding and on the features of the edge between."""

from typing import Any

import torch
from torch import Tensor

from nmrgcl.graphs import Graphs
from nmrgcl.ops.neighbour_sum import edge_shares, edges_by_source
from nmrgcl.ops.rows import row_sums


def message_sum(h: Tensor, e: Tensor, graphs: Graphs) -> Tensor:
    """``[N, D]``: for each node Σ ReLU(h_u + e_uv) over its in-neighbours (Hu et al. 2020).

    ``h`` is ``[N, D]`` and ``e`` ``[E, D]``, one row per edge of ``graphs``, whose added edges must be merged already.
    Removed edges send nothing, and an edge's weight multiplies its message. Sums have a fixed order in both passes.
    """
    result: Tensor = _MessageSum.apply(h, e, edge_shares(graphs), graphs)
    return result


class _MessageSum(torch.autograd.Function):
    """``out_v = Σ_{u→v} w_uv m_uv`` with ``m_uv = ReLU(h_u + e_uv)``.

    With G = ∂L/∂out: ∂L/∂w_uv = ⟨G_v, m_uv⟩; ∂L/∂e_uv = w_uv · G_v where m_uv > 0, else 0; and ∂L/∂h_u sums ∂L/∂e_uv
    over the edges that leave u.
    """

    @staticmethod
    def forward(ctx: Any, h: Tensor, e: Tensor, weight: Tensor | None, graphs: Graphs) -> Tensor:
        message = (h.index_select(0, graphs.edge_index[0]) + e).relu_()
        ctx.save_for_backward(message, weight)
        # Under autocast the two may differ in precision, and each needs a gradient of its own.
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
        # Sorted by source, the gradient is a sum over rows as well; index_add_ would add in any order on a GPU.
        _, by_source, edge = edges_by_source(graphs)
        on_h = row_sums(on_message, edge, by_source, None)
        return on_h.to(ctx.types[0]), on_message.to(ctx.types[1]), on_weight, None
