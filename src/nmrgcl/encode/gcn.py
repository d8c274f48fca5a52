"""Graph convolutional network (Kipf & Welling 2017)."""

from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from nmrgcl.encode.activation import build_activation, drop_out
from nmrgcl.encode.feature_map import layer_maps
from nmrgcl.encode.norm import MaskedBatchNorm
from nmrgcl.graphs import Graphs
from nmrgcl.ops.neighbour_sum import in_degrees, is_undirected, neighbour_sum, weighted_sum


class GCNLayer(nn.Module):
    """``D^{-1/2}(A + I)D^{-1/2} h W + b``."""

    def __init__(self, linear: nn.Module, units: int) -> None:
        super().__init__()
        self.linear = linear
        self.bias = nn.Parameter(torch.zeros(units))

    def forward(self, h: Tensor, graphs: Graphs, *, normalise: bool = True) -> Tensor:
        """``[N, ·]`` to ``[N, units]``; without ``normalise`` the edges' own weights are the matrix."""
        h = self.linear(h)
        return (normalised_sum(h, graphs) if normalise else neighbour_sum(h, graphs)) + self.bias


class GCN(nn.Module):
    """``layers`` GCN layers of ``units`` each, with an activation between them and, if asked, after the last.

    With ``norm``, batch norm comes before each activation.

    Example:
        >>> import networkx as nx
        >>> from nmrgcl import GCN, from_networkx
        >>> graphs = from_networkx([nx.cycle_graph(3), nx.path_graph(4)])
        >>> GCN(graphs.num_features, layers=2, units=16)(graphs).shape  # one row per node
        torch.Size([7, 16])
    """

    def __init__(
        self,
        num_features: int,
        *,
        layers: int = 2,
        units: int = 512,
        activation: str = "relu",
        activate_last: bool = True,
        dropout: float = 0.0,
        norm: bool = False,
    ) -> None:
        super().__init__()
        self.units, self.dropout = units, dropout
        self.layers = nn.ModuleList(GCNLayer(linear, units) for linear in layer_maps(num_features, layers, units))
        self.activations = nn.ModuleList(build_activation(activation) for _ in range(layers - (not activate_last)))
        self.norms = nn.ModuleList(MaskedBatchNorm(units) for _ in self.activations if norm)

    def forward(self, graphs: Graphs, *, normalise: bool = True) -> Tensor:
        """``[N, units]``; ``normalise=False`` where the weights of the edges are a matrix already (diffusion)."""
        graphs = graphs.merge_added()
        h = graphs.x
        for number, layer in enumerate(self.layers):
            h = layer(drop_out(h, self.dropout, training=self.training), graphs, normalise=normalise)
            if number < len(self.norms):
                h = self.norms[number](h, graphs.node_keep, graphs.split)
            if number < len(self.activations):
                h = self.activations[number](h)
        return h


def normalised_sum(h: Tensor, graphs: Graphs, *, count_self: bool = True) -> Tensor:
    """``D^{-1/2}(A + I)D^{-1/2} h``, ``[N, D]`` (Eq. 4); the matrix is computed once per view.

    If edge weights are learned, it is computed every time, and their gradient flows through ``D`` as well.

    In GCN's renormalisation ``D`` counts the self-loop. The paper's five-node example works out only with degrees
    that do not count it and are at least 1: ``count_self=False``.
    """
    graphs = graphs.merge_added()
    weight, own = _normalised(graphs, count_self, torch.float64 if h.dtype == torch.float64 else torch.float32)
    return weighted_sum(h, graphs, weight, own, undirected=is_undirected(graphs))


# Graphs are compared by identity, so each view has an entry of its own, which goes when the view does.
_NORMALISED: WeakKeyDictionary[Graphs, dict[tuple[bool, torch.dtype], tuple[Tensor, Tensor]]] = WeakKeyDictionary()


def _normalised(graphs: Graphs, count_self: bool, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """``_matrix``, cached unless it has a gradient."""
    if graphs.weights_learn:
        return _matrix(graphs, count_self, dtype)
    known = _NORMALISED.setdefault(graphs, {})
    if (count_self, dtype) not in known:
        # What outlives a step must not hold on to its graph of operations.
        with torch.no_grad():
            known[count_self, dtype] = _matrix(graphs, count_self, dtype)
    return known[count_self, dtype]


def _matrix(graphs: Graphs, count_self: bool, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """``D^{-1/2}(A + I)D^{-1/2}``: its entry for each edge ``[E]``, and its diagonal ``[N]``."""
    degree = in_degrees(graphs, dtype)
    scale = (degree + 1 if count_self else degree.clamp(min=1)).rsqrt()
    source, destination = scale[graphs.edge_index]
    weight = source * destination
    if graphs.edge_weight is not None:
        weight = weight * graphs.edge_weight
    # The diagonal is that of I: every node has a loop of weight 1, whatever its edges.
    return (torch.where(graphs.live_edges, weight, 0.0) if graphs.masked else weight), scale.square()
