"""Readout: node embeddings to graph embeddings, over the kept nodes only."""

import torch
from torch import Tensor

from nmrgcl.errors import DataError, SettingError, nearest
from nmrgcl.graphs import Graphs
from nmrgcl.ops.graph_sum import graph_sum


def pool_mean(h: Tensor, graphs: Graphs) -> Tensor:
    """``[B, D]`` mean over each graph's kept nodes; a graph without nodes gives zeros."""
    return mean_from_sum(graph_sum(h, graphs), graphs)


def mean_from_sum(total: Tensor, graphs: Graphs) -> Tensor:
    """``[B, D]`` sums over each graph's nodes, divided by how many there are."""
    return total / graphs.node_counts().clamp(min=1).to(total.dtype)[:, None]


def pool_max(h: Tensor, graphs: Graphs) -> Tensor:
    """``[B, D]`` largest value over each graph's kept nodes; a graph without nodes gives zeros."""
    lowest = torch.finfo(h.dtype).min
    if graphs.node_keep is not None:
        h = torch.where(graphs.node_keep[:, None], h, lowest)
    out = h.new_full((graphs.num_graphs, h.shape[1]), lowest)
    out = out.scatter_reduce(0, graphs.batch[:, None].expand_as(h), h, "amax")
    return torch.where((graphs.node_counts() > 0)[:, None], out, 0.0)


POOLS = {"sum": graph_sum, "mean": pool_mean, "max": pool_max}


def pool(h: Tensor, graphs: Graphs | Tensor, how: str, *, size: int | None = None) -> Tensor:
    """``[B, D]`` by the readout named ``how``.

    Instead of ``graphs`` one can pass PyG's ``batch``: the number of each node's graph, ``[N]``, in ascending order.
    There are then ``size`` graphs; without ``size``, as many as ``batch`` names.

    Example:
        >>> import torch
        >>> from nmrgcl import pool
        >>> h, batch = torch.tensor([[1.0], [3.0], [5.0]]), torch.tensor([0, 0, 1])
        >>> pool(h, batch, "sum").tolist(), pool(h, batch, "mean").tolist()
        ([[4.0], [5.0]], [[2.0], [5.0]])
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
