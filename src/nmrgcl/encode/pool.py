"""Readout: node embeddings to graph embeddings, over the kept nodes only."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from nmrgcl import ops
from nmrgcl.errors import DataError, SettingError, nearest
from nmrgcl.graphs import Graphs


def pool_sum(h: Tensor, graphs: Graphs) -> Tensor:
    """``[B, D]`` sum over each graph's nodes; a graph without nodes gives zeros."""
    result: Tensor = _SegmentSum.apply(h, graphs)
    return result


def pool_mean(h: Tensor, graphs: Graphs) -> Tensor:
    """``[B, D]`` mean over each graph's kept nodes."""
    return pool_sum(h, graphs) / graphs.node_counts().clamp(min=1).to(h.dtype)[:, None]


def pool_max(h: Tensor, graphs: Graphs) -> Tensor:
    """``[B, D]`` largest value over each graph's kept nodes; a graph without nodes gives zeros."""
    lowest = torch.finfo(h.dtype).min
    if graphs.node_keep is not None:
        h = torch.where(graphs.node_keep[:, None], h, lowest)
    out = h.new_full((graphs.num_graphs, h.shape[1]), lowest)
    out = out.scatter_reduce(0, graphs.batch[:, None].expand_as(h), h, "amax")
    return torch.where((graphs.node_counts() > 0)[:, None], out, 0.0)


POOLS = {"sum": pool_sum, "mean": pool_mean, "max": pool_max}


def pool(h: Tensor, graphs: Graphs | Tensor, how: str, *, size: int | None = None) -> Tensor:
    """``[B, D]`` by the readout named ``how``.

    In place of ``graphs`` PyG's ``batch`` will do: the number of each node's graph, ``[N]``, ascending. There are then
    ``size`` graphs, or as many as it names.
    """
    if how not in POOLS:
        raise SettingError(f"unknown encoder.pool {how!r}; {nearest(how, POOLS)}")
    return POOLS[how](h, _without_edges(graphs, len(h), size) if isinstance(graphs, Tensor) else graphs)


def _without_edges(batch: Tensor, nodes: int, size: int | None) -> Graphs:
    if batch.shape != (nodes,) or batch.is_floating_point():
        raise DataError(
            f"batch must hold a whole number for each of the {nodes} rows; its shape is {list(batch.shape)}"
        )
    size = (int(batch[-1]) + 1 if nodes else 0) if size is None else size
    if nodes and (int(batch[0]) < 0 or int(batch[-1]) >= size or bool((batch.diff() < 0).any())):
        raise DataError(f"batch must ascend from 0 to at most {size - 1}: the nodes of a graph stand together")
    node_ptr = torch.searchsorted(batch, torch.arange(size + 1, dtype=batch.dtype, device=batch.device))
    return Graphs.build(torch.empty(2, 0, dtype=torch.long, device=batch.device), node_ptr)


class _SegmentSum(torch.autograd.Function):
    """Nodes of a graph are contiguous: the forward pass sums ranges, the backward pass copies rows."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, graphs: Graphs) -> Tensor:
        ctx.graphs = graphs
        if graphs.num_nodes == 0:
            return h.new_zeros(graphs.num_graphs, h.shape[1])
        if ops.serve(h):
            from nmrgcl.ops.triton.rows import row_sums

            return row_sums(h, None, graphs.node_ptr, graphs.node_keep)
        nodes = torch.arange(graphs.num_nodes, device=h.device)
        keep = None if graphs.node_keep is None else graphs.node_keep.to(h.dtype)
        return embedding_bag(nodes, h, graphs.node_ptr, mode="sum", include_last_offset=True, per_sample_weights=keep)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        keep = ctx.graphs.node_keep
        if ops.serve(grads[0]):
            from nmrgcl.ops.triton.rows import spread_rows

            return spread_rows(grads[0].contiguous(), ctx.graphs.batch, keep), None
        spread = grads[0].index_select(0, ctx.graphs.batch)
        return (spread if keep is None else spread * keep[:, None]), None
