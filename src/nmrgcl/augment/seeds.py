"""One node per graph from which to look at it; the graphs must have no masks."""

import torch
from torch import Tensor

from nmrgcl.graphs import Graphs


def draw_seeds(graphs: Graphs) -> Tensor:
    """``[B]`` one node per graph, with probability proportional to its degree to the power 0.75."""
    weight = graphs.row_ptr.diff().double().pow(0.75) + 1e-9  # a graph without edges has a seed too
    below = weight.cumsum(0)
    bounds = torch.cat([below.new_zeros(1), below])[graphs.node_ptr]
    place = bounds[:-1] + torch.rand(graphs.num_graphs, device=graphs.device, dtype=torch.float64) * bounds.diff()
    node = torch.searchsorted(below, place, right=True)
    # Rounding must not carry a draw over into the next graph.
    return torch.minimum(node, (graphs.node_ptr[1:] - 1).clamp(min=0))


def highest_degree(graphs: Graphs) -> Tensor:
    """``[B]`` the first of the nodes with the most edges; for a graph without nodes, any node."""
    degree, node = graphs.row_ptr.diff(), torch.arange(graphs.num_nodes, device=graphs.device)
    most = degree.new_zeros(graphs.num_graphs).scatter_reduce_(0, graphs.batch, degree, "amax")
    is_best = degree == most[graphs.batch]
    last = torch.full_like(most, max(graphs.num_nodes - 1, 0))
    return last.scatter_reduce_(0, graphs.batch, torch.where(is_best, node, graphs.num_nodes), "amin")
