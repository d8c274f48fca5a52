"""What conversions share: graphs one by one, and checks of what comes from outside."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs


@dataclass(frozen=True, eq=False)
class GraphSlice:
    """One graph: its nodes and edges within all graphs, and its edges counted from its own first node."""

    nodes: slice
    edges: slice
    edge_index: Tensor


def parts(graphs: Graphs) -> Iterator[GraphSlice]:
    """The graphs in their order."""
    local = graphs.edge_index - graphs.node_ptr[graphs.batch[graphs.edge_index[0]]]
    bounds = zip(pairwise(graphs.node_ptr.tolist()), pairwise(graphs.edge_ptr.tolist()), strict=True)
    for nodes, edges in bounds:
        yield GraphSlice(slice(*nodes), slice(*edges), local[:, slice(*edges)])


def pointers(sizes: Tensor) -> Tensor:
    """``[B + 1]`` from the ``[B]`` numbers of nodes."""
    if not len(sizes):
        raise DataError("there are no graphs to convert")
    return torch.nn.functional.pad(sizes.cumsum(0), (1, 0))


def check_values(x: Tensor | None, edge_weight: Tensor | None, edge_attr: Tensor | None = None) -> None:
    """Features must be finite and weights positive: anything else would show up as NaN much later."""
    if edge_attr is not None and not torch.isfinite(edge_attr).all():
        raise DataError("an edge feature is not finite")
    if x is not None and not torch.isfinite(x).all():
        raise DataError("a node feature is not finite")
    if edge_weight is not None and not (torch.isfinite(edge_weight) & (edge_weight > 0)).all():
        raise DataError("an edge weight is not a positive number")
