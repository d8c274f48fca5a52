"""Message passing over bonds: the sum over a node's neighbours, with an embedding of what joins them."""

from collections.abc import Sequence

import torch
from torch import Tensor

from nmrgcl.encode.aggregate import neighbour_sum
from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs


def bond_sum(h: Tensor, graphs: Graphs, tables: Sequence[Tensor], counts: Tensor | None = None) -> Tensor:
    """``[N, D]``: for each node the sum of ``h`` over its in-neighbours and itself, and of what their bonds name.

    A table's share in the sum over a node's edges is how often they name each of its rows, times the table. So the
    embeddings take one small product, and neither they nor the messages exist edge by edge.

    Args:
        h: ``[N, D]``.
        graphs: ``edge_attr`` is ``[E, C]``, int64. In column c the value k ≥ 1 names row k − 1 of ``tables[c]``; less
            than 1 names none, as on the edges that a view adds.
        tables: one ``[K_c, D]`` a column, then one ``[1, D]`` for the loop from a node to itself.
        counts: the ``bond_counts`` of the graphs, where several layers share them.
    """
    if counts is None:
        counts = bond_counts(graphs, [table.shape[0] for table in tables[:-1]])
    # In place, because nothing else holds the sum and its backward pass does not look at it.
    return neighbour_sum(h, graphs, self_weight=1.0).addmm_(counts.to(h.dtype), torch.cat(list(tables)).to(h.dtype))


def bond_counts(graphs: Graphs, sizes: Sequence[int]) -> Tensor:
    """``[N, Σ K_c + 1]``: how often, by weight, the edges into each node name each value; last, the loop, once.

    Args:
        graphs: ``edge_attr`` as in ``bond_sum``.
        sizes: ``K_c``, the largest value of each column.
    """
    graphs = graphs.merge_added()
    values = _checked(graphs.edge_attr, sizes)
    weight = torch.ones((), device=values.device) if graphs.edge_weight is None else graphs.edge_weight
    width = sum(sizes) + 1
    place = graphs.edge_index[1] * width - 1
    counts = torch.zeros(graphs.num_nodes * width, device=values.device, dtype=weight.dtype)
    for value, size in zip(values.unbind(1), sizes, strict=True):
        named = (value >= 1) & (value <= size) & graphs.live_edges
        # Without weights these are whole numbers: their sum does not depend on the order in which they are added.
        counts.scatter_add_(0, place + value.clamp(1, size), named * weight)
        place = place + size
    counts = counts.view(graphs.num_nodes, width)
    counts[:, -1] = 1
    return counts


def _checked(values: Tensor | None, sizes: Sequence[int]) -> Tensor:
    """``[E, C]``; on a GPU, which nobody waits for, a value beyond its table names none."""
    if values is None or values.is_floating_point() or values.dim() != 2 or values.shape[1] != len(sizes):
        found = "there is none" if values is None else f"it is {values.dtype} of shape {list(values.shape)}"
        raise DataError(f"edge_attr must hold whole numbers in {len(sizes)} columns, but {found}; use encoder.name=gin")
    if values.device.type == "cpu" and values.numel():
        for column, (largest, size) in enumerate(zip(values.amax(0).tolist(), sizes, strict=True)):
            if largest > size:
                raise DataError(
                    f"edge_attr, column {column}: value {largest} is beyond the {size} known ones; number them from 1"
                )
    return values
