"""How central a node is in its graph."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from nmrgcl.graphs import Graphs

DAMPING = 0.85
ITERATIONS = 200
"""Power iterations; their number is fixed, so that no step waits to see whether they have converged."""


def degree(graphs: Graphs) -> Tensor:
    """``[N]`` in-degrees."""
    return graphs.row_ptr.diff().float()


def pagerank(graphs: Graphs) -> Tensor:
    """``[N]`` PageRank, summing to one in each graph; the rank of a node without edges is spread over its graph."""
    size = graphs.node_ptr.diff().double()[graphs.batch]
    source, destination = graphs.edge_index
    out = torch.zeros_like(size).index_add_(0, source, torch.ones_like(source, dtype=size.dtype))
    rank = 1 / size
    for _ in range(ITERATIONS):
        share = torch.where(out > 0, rank / out.clamp(min=1), 0.0)
        # Without this, what reaches a node without edges would be lost, and ranks would no longer sum to one.
        stuck = _per_graph(torch.where(out > 0, 0.0, rank), graphs) / size
        passed = torch.zeros_like(rank).index_add_(0, destination, share.index_select(0, source))
        rank = (1 - DAMPING) / size + DAMPING * (passed + stuck)
    return rank.float()


def eigenvector(graphs: Graphs) -> Tensor:
    """``[N]`` the leading eigenvector of the adjacency matrix of each graph, of length one."""
    source, destination = graphs.edge_index
    # Positive at the start, so that it has a part along the leading eigenvector, which has no negative entries.
    vector = torch.ones(graphs.num_nodes, dtype=torch.float64, device=graphs.device)
    for _ in range(ITERATIONS):
        # A + I has the same eigenvectors, and on bipartite graphs a single largest eigenvalue.
        vector = vector + torch.zeros_like(vector).index_add_(0, destination, vector.index_select(0, source))
        vector = vector / _per_graph(vector.square(), graphs).sqrt()
    return vector.float()


CENTRALITIES: dict[str, Callable[[Graphs], Tensor]] = {
    "degree": degree,
    "eigenvector": eigenvector,
    "pagerank": pagerank,
}
_KNOWN: dict[str, WeakTensorKeyDictionary] = {name: WeakTensorKeyDictionary() for name in CENTRALITIES}


def centrality(graphs: Graphs, name: str) -> Tensor:
    """``[N]`` by all edges, including those that a view has removed; computed once for each graph."""
    known = _KNOWN[name]
    # Views that only mask share this tensor with the graph they are views of, so that they all find the same entry.
    if graphs.edge_index not in known:
        known[graphs.edge_index] = CENTRALITIES[name](graphs)
    found: Tensor = known[graphs.edge_index]
    return found


def _per_graph(values: Tensor, graphs: Graphs) -> Tensor:
    """``[N]`` the sum over each node's graph."""
    return values.new_zeros(graphs.num_graphs).index_add_(0, graphs.batch, values).index_select(0, graphs.batch)
