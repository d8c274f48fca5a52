"""Subgraphs of a graph that is too large for one step: nodes sampled around roots, and all edges between them."""

import torch
from torch import Tensor
from torch.nn.functional import pad

from nmrgcl.graphs import Graphs
from nmrgcl.sparse_rows import select_rows


def walk_nodes(graphs: Graphs, roots: Tensor, steps: int) -> Tensor:
    """The nodes on a random walk of ``steps`` steps from each of the ``roots``, sorted (Zeng et al. 2020)."""
    here, seen = roots, [roots]
    for _ in range(steps):
        here = _random_neighbour(graphs, here)
        seen.append(here)
    return torch.unique(torch.cat(seen))


def neighbour_nodes(graphs: Graphs, roots: Tensor, hops: int, fanout: int) -> Tensor:
    """``roots`` and, repeated ``hops`` times, ``fanout`` random neighbours of every node so far (Hamilton et al. 2017).

    Neighbours are drawn with replacement, so a node may contribute fewer distinct ones. The result is sorted.
    """
    seen = torch.unique(roots)
    for _ in range(hops):
        drawn = _random_neighbour(graphs, seen.repeat_interleave(fanout))
        seen = torch.unique(torch.cat([seen, drawn]))
    return seen


def induced(graphs: Graphs, nodes: Tensor) -> Graphs:
    """The subgraph induced by ``nodes`` (sorted, distinct).

    Only the incoming edges of these nodes are examined, so the cost does not depend on the size of the graph.
    """
    start = graphs.row_ptr.index_select(0, nodes)
    count = graphs.row_ptr.index_select(0, nodes + 1) - start
    ends = count.cumsum(0)
    place = torch.arange(int(ends[-1]), device=nodes.device)
    edge = place + torch.repeat_interleave(start - (ends - count), count)
    source = graphs.edge_index[0].index_select(0, edge)
    where = torch.searchsorted(nodes, source).clamp_(max=nodes.shape[0] - 1)
    kept = nodes[where] == source
    edge, inside = edge[kept], where[kept]
    destination = torch.repeat_interleave(count)[kept]
    # `pair` refers to edges of the whole graph. If an edge is kept, so is its partner, which has the same two ends.
    first = torch.searchsorted(edge, graphs.pair.index_select(0, edge))
    return Graphs(
        x=select_rows(graphs.x, nodes),
        num_features=graphs.num_features,
        edge_index=torch.stack([inside, destination]),
        row_ptr=pad(torch.bincount(destination, minlength=nodes.shape[0]).cumsum(0), (1, 0)),
        node_ptr=torch.tensor([0, nodes.shape[0]], device=nodes.device),
        batch=torch.zeros_like(nodes),
        pair=first,
        symmetric=graphs.symmetric,
        y=graphs.y.index_select(0, nodes) if graphs.y is not None and graphs.y_level == "node" else None,
        y_level="node",
        edge_attr=None if graphs.edge_attr is None else graphs.edge_attr.index_select(0, edge),
        edge_weight=None if graphs.edge_weight is None else graphs.edge_weight.index_select(0, edge),
    )


def _random_neighbour(graphs: Graphs, nodes: Tensor) -> Tensor:
    """A uniformly drawn in-neighbour of each node; a node without any is returned itself."""
    start = graphs.row_ptr.index_select(0, nodes)
    count = graphs.row_ptr.index_select(0, nodes + 1) - start
    # In float64: the 24 bits of a float32 draw could not reach every neighbour of a large hub.
    draw = (torch.rand(nodes.shape, device=nodes.device, dtype=torch.float64) * count).long()
    # The start of an empty row may lie beyond the last edge.
    edge = (start + draw).clamp_(max=max(graphs.num_edges - 1, 0))
    if graphs.num_edges == 0:
        return nodes
    return torch.where(count > 0, graphs.edge_index[0].index_select(0, edge), nodes)
