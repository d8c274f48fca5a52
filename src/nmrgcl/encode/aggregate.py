"""Message passing: the sum over a node's neighbours, by rows of the sorted edge list."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from nmrgcl.graphs import Graphs


def neighbour_sum(h: Tensor, graphs: Graphs, *, self_weight: float = 0.0) -> Tensor:
    """``[N, D]``: for each node the sum of ``h`` over its in-neighbours plus ``self_weight`` times its own row.

    Gather and sum are one operation per destination row, so no ``[E, D]`` messages exist and the order of
    summation is fixed. On a symmetric graph the same operation is its own backward pass.
    """
    graphs = graphs.merge_added()
    weight = graphs.live_edges.to(h.dtype) if graphs.masked else None
    if graphs.edge_weight is not None:
        weight = graphs.edge_weight.to(h.dtype) if weight is None else weight * graphs.edge_weight
    result: Tensor = _NeighbourSum.apply(h, graphs, weight, self_weight)
    return result


def normalised_sum(h: Tensor, graphs: Graphs, *, count_self: bool = True) -> Tensor:
    """``D^{-1/2}(A + I)D^{-1/2} h``, ``[N, D]`` (Eq. 4).

    ``D`` counts the self-loop in GCN's renormalisation. The paper's five-node example works out only with degrees
    that do not count it, at least 1 each: ``count_self=False``.
    """
    degree = neighbour_sum(torch.ones_like(h[:, :1]), graphs)
    scale = (degree + 1 if count_self else degree.clamp(min=1)).rsqrt()
    return scale * neighbour_sum(scale * h, graphs, self_weight=1.0)


class _NeighbourSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, graphs: Graphs, weight: Tensor | None, self_weight: float) -> Tensor:
        ctx.graphs, ctx.weight, ctx.self_weight = graphs, weight, self_weight
        out = _row_sums(h, graphs.edge_index[0], graphs.row_ptr, weight)
        return out.add_(h, alpha=self_weight) if self_weight else out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None]:
        (grad,) = grads
        grad, graphs, weight = grad.contiguous(), ctx.graphs, ctx.weight
        if graphs.symmetric and graphs.edge_weight is None:
            out = _row_sums(grad, graphs.edge_index[0], graphs.row_ptr, weight)
        else:
            order = torch.argsort(graphs.edge_index[0], stable=True)
            source = graphs.edge_index[0].index_select(0, order)
            rows = torch.searchsorted(source, torch.arange(graphs.num_nodes + 1, device=source.device))
            weight = None if weight is None else weight.index_select(0, order)
            out = _row_sums(grad, graphs.edge_index[1].index_select(0, order), rows, weight)
        return (out.add_(grad, alpha=ctx.self_weight) if ctx.self_weight else out), None, None, None


def _row_sums(h: Tensor, column: Tensor, row_ptr: Tensor, weight: Tensor | None) -> Tensor:
    if column.shape[0] == 0:
        return torch.zeros_like(h)
    return embedding_bag(column, h, row_ptr, mode="sum", include_last_offset=True, per_sample_weights=weight)
