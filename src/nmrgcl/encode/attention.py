"""Attention over a node's neighbours and itself: numbers for edges, never a message for each."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import dropout, leaky_relu

from nmrgcl.encode.aggregate import edge_products, row_sums, transposed
from nmrgcl.graphs import Graphs

SLOPE = 0.2
"""Of the leaky ReLU (Veličković et al. 2018)."""


def attend(h: Tensor, as_source: Tensor, as_destination: Tensor, graphs: Graphs, *, drop: float = 0.0) -> Tensor:
    """``[N, H, C]``: for each of ``H`` heads the mean of ``h`` over in-neighbours and the node, weighted by attention.

    Args:
        h: ``[N, H, C]``.
        as_source: ``[N, H]`` what a node brings to the attention paid to it.
        as_destination: ``[N, H]`` what it brings to the attention it pays.
        graphs: removed edges and nodes are not attended to.
        drop: share of the weights to drop.
    """
    destination = graphs.edge_index[1]
    logit = leaky_relu(at_end(as_source, graphs, 0) + at_end(as_destination, graphs, 1), SLOPE)
    logit = torch.where(graphs.live_edges[:, None], logit, -torch.inf)
    own = leaky_relu(as_source + as_destination, SLOPE)
    top = own.detach().scatter_reduce(0, destination[:, None].expand_as(logit), logit.detach(), "amax")
    weight, own = (logit - top.index_select(0, destination)).exp(), (own - top).exp()
    total = _RowTotal.apply(weight, graphs) + own
    weight, own = weight / at_end(total, graphs, 1), own / total
    if drop:
        weight, own = dropout(weight, drop), dropout(own, drop)
    out = [
        _WeightedSum.apply(h[:, k].contiguous(), weight[:, k].contiguous(), graphs) + own[:, k, None] * h[:, k]
        for k in range(h.shape[1])
    ]
    return torch.stack(out, 1)


def at_end(values: Tensor, graphs: Graphs, end: int) -> Tensor:
    """``[E, H]`` what the source (0) or destination (1) of each edge has; the gradient is summed in a fixed order."""
    result: Tensor = _Gather.apply(values, graphs, end)
    return result


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, graphs: Graphs, end: int) -> Tensor:
        ctx.graphs, ctx.end = graphs, end
        return values.index_select(0, graphs.edge_index[end])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        if ctx.end:
            return _totals(grads[0], ctx.graphs), None, None
        _, rows, order = transposed(ctx.graphs)
        return row_sums(grads[0].contiguous(), order, rows, None), None, None


class _RowTotal(torch.autograd.Function):
    """``[N, H]`` the sum of ``[E, H]`` over the edges into each node."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, graphs: Graphs) -> Tensor:
        ctx.graphs = graphs
        return _totals(values, graphs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return grads[0].index_select(0, ctx.graphs.edge_index[1]), None


class _WeightedSum(torch.autograd.Function):
    """``[N, C]``: row v sums ``weight[e] · h[source of e]`` over the edges e into v; both have gradients."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, weight: Tensor, graphs: Graphs) -> Tensor:
        ctx.save_for_backward(h, weight)
        ctx.graphs = graphs
        return row_sums(h, graphs.edge_index[0], graphs.row_ptr, weight)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None]:
        (h, weight), graphs, grad = ctx.saved_tensors, ctx.graphs, grads[0].contiguous()
        column, rows, order = transposed(graphs)
        of_h = row_sums(grad, column, rows, weight.index_select(0, order))
        return of_h, edge_products(grad, h, graphs), None


def _totals(values: Tensor, graphs: Graphs) -> Tensor:
    return row_sums(values.contiguous(), torch.arange(graphs.num_edges, device=values.device), graphs.row_ptr, None)
