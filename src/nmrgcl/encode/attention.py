"""Attention over a node's neighbours and itself. It stores numbers per edge and head, but no messages."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import leaky_relu

from nmrgcl.graphs import Graphs
from nmrgcl.ops.dropout import dropout
from nmrgcl.ops.neighbour_sum import edges_by_source, weighted_sum
from nmrgcl.ops.rows import row_sums

SLOPE = 0.2
"""Slope of the leaky ReLU below zero (Veličković et al. 2018)."""


def attend(h: Tensor, as_source: Tensor, as_destination: Tensor, graphs: Graphs, *, drop: float = 0.0) -> Tensor:
    """``[N, H, C]``: for each of ``H`` heads the mean of ``h`` over in-neighbours and the node, weighted by attention.

    Args:
        h: ``[N, H, C]``.
        as_source: ``[N, H]`` a node's share in the logits of the edges that leave it.
        as_destination: ``[N, H]`` a node's share in the logits of the edges that enter it.
        graphs: removed edges and nodes get no attention.
        drop: dropout rate of the attention weights.
    """
    destination = graphs.edge_index[1]
    logit = leaky_relu(at_end(as_source, graphs, 0) + at_end(as_destination, graphs, 1), SLOPE)
    # exp(−∞) = 0: a removed edge gets no attention, and its gradient is zero.
    logit = torch.where(graphs.live_edges[:, None], logit, -torch.inf)
    own = leaky_relu(as_source + as_destination, SLOPE)
    # Softmax over the edges into a node and its loop; subtracting the largest logit keeps exp() finite.
    # It cancels in the quotient, so it needs no gradient; and a maximum does not depend on the order of its terms.
    top = own.detach().scatter_reduce(0, destination[:, None].expand_as(logit), logit.detach(), "amax")
    weight, own = (logit - top.index_select(0, destination)).exp(), (own - top).exp()
    total = _RowTotal.apply(weight, graphs) + own
    weight, own = weight / at_end(total, graphs, 1), own / total
    if drop:
        weight, own = dropout(weight, drop), dropout(own, drop)
    # One head at a time, because a weighted sum over rows takes one weight per edge and so stores no messages.
    out = [
        weighted_sum(h[:, k].contiguous(), graphs, weight[:, k].contiguous()) + own[:, k, None] * h[:, k]
        for k in range(h.shape[1])
    ]
    return torch.stack(out, 1)


def at_end(values: Tensor, graphs: Graphs, end: int) -> Tensor:
    """``[E, H]`` the values of the source (``end=0``) or destination (1) of each edge.

    PyTorch's own indexing would sum the gradient in any order; this one always uses the same.
    """
    result: Tensor = _Gather.apply(values, graphs, end)
    return result


class _Gather(torch.autograd.Function):
    """``out_e = x_v`` where v is the given end of edge e, so ``∂L/∂x_v`` sums ``∂L/∂out_e`` over the edges with it."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, graphs: Graphs, end: int) -> Tensor:
        ctx.graphs, ctx.end = graphs, end
        return values.index_select(0, graphs.edge_index[end])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        if ctx.end:
            return _totals(grads[0], ctx.graphs), None, None
        _, rows, order = edges_by_source(ctx.graphs)
        return row_sums(grads[0].contiguous(), order, rows, None), None, None


class _RowTotal(torch.autograd.Function):
    """``[N, H]`` the sum of ``[E, H]`` over the edges into each node, so ``∂L/∂x_e = ∂L/∂out_v`` for e: u → v."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, graphs: Graphs) -> Tensor:
        ctx.graphs = graphs
        return _totals(values, graphs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return grads[0].index_select(0, ctx.graphs.edge_index[1]), None


def _totals(values: Tensor, graphs: Graphs) -> Tensor:
    return row_sums(values.contiguous(), torch.arange(graphs.num_edges, device=values.device), graphs.row_ptr, None)
