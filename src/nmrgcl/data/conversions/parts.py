"""Helpers that conversions share: optional imports, iteration over graphs, and input checks."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs


def needed(module: str, library: str, extra: str) -> Any:
    """Import an optional library; if it is missing, raise DataError with the command that installs it."""
    try:
        return import_module(module)
    except ImportError:
        raise DataError(f"this needs {library}, which is not installed; pip install 'nmrgcl[{extra}]'") from None


@dataclass(frozen=True, eq=False)
class GraphSlice:
    """One graph: the slices of its nodes and edges, and its edges numbered from its own first node."""

    nodes: slice
    edges: slice
    edge_index: Tensor


def parts(graphs: Graphs) -> Iterator[GraphSlice]:
    """Yield the graphs in order."""
    local = graphs.edge_index - graphs.node_ptr[graphs.batch[graphs.edge_index[0]]]
    bounds = zip(pairwise(graphs.node_ptr.tolist()), pairwise(graphs.edge_ptr.tolist()), strict=True)
    for nodes, edges in bounds:
        yield GraphSlice(slice(*nodes), slice(*edges), local[:, slice(*edges)])


def pointers(sizes: Tensor) -> Tensor:
    """Return ``[B + 1]`` node pointers from the ``[B]`` sizes of graphs."""
    if not len(sizes):
        raise DataError("there are no graphs to convert")
    return torch.nn.functional.pad(sizes.cumsum(0), (1, 0))


def check_values(x: Tensor | None, edge_weight: Tensor | None, edge_attr: Tensor | None = None) -> None:
    """Require finite features and positive weights; anything else would surface as NaN much later."""
    if edge_attr is not None and not torch.isfinite(edge_attr).all():
        raise DataError("an edge feature is not finite")
    if x is not None and not torch.isfinite(x).all():
        raise DataError("a node feature is not finite")
    if edge_weight is not None and not (torch.isfinite(edge_weight) & (edge_weight > 0)).all():
        raise DataError("an edge weight is not a positive number")
