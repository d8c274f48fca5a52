"""Graph isomorphism network (Xu et al. 2019) as GraphCL uses it, and with edge features (Hu et al. 2020)."""

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import relu

from nmrgcl.encode.activation import drop_out
from nmrgcl.encode.edge_names import EdgeShape, read_edges
from nmrgcl.encode.feature_map import FeatureMap, layer_maps
from nmrgcl.encode.messages import message_sum
from nmrgcl.encode.norm import MaskedBatchNorm
from nmrgcl.encode.pool import mean_from_sum, pool
from nmrgcl.graphs import Graphs
from nmrgcl.ops.gin import GINWeights, gin_layer, gin_sums


class GINLayer(nn.Module):
    """``BatchNorm(ReLU(MLP((1 + ε)·h + Σ neighbours)))`` with two linear maps in the MLP and ε = 0."""

    def __init__(self, first: nn.Module, units: int) -> None:
        super().__init__()
        self.first = first
        self.bias = nn.Parameter(torch.zeros(units))
        self.second = nn.Linear(units, units)
        self.norm = MaskedBatchNorm(units)
        nn.init.xavier_uniform_(self.second.weight)
        nn.init.zeros_(self.second.bias)

    def forward(self, h: Tensor, graphs: Graphs) -> Tensor:
        """``[N, ·]`` to ``[N, units]``."""
        # A FeatureMap looks up categories or multiplies sparse features, whereas the forms of ops/gin.py take dense
        # rows.
        h = h if isinstance(self.first, nn.Linear) else self.first(h)
        return gin_layer(h, graphs, self.weights, training=self.training)

    @property
    def weights(self) -> GINWeights:
        """All parameters but those of a ``FeatureMap``, which has to be applied to the features before."""
        first = self.first.weight if isinstance(self.first, nn.Linear) else None
        return GINWeights(first, self.bias, self.second.weight, self.second.bias, self.norm.parts)


class GINELayer(GINLayer):
    """``BatchNorm(ReLU(MLP((1 + ε)·h + Σ ReLU(h_u + e_uv))))`` with the MLP of ``GINLayer`` and ε = 0.

    Each layer has its own map of edge features: e_uv is the sum of the rows that an edge's labels name, or a linear map
    of its attributes. The first layer maps node features before the messages rather than after, so that messages have
    ``units`` columns, however many features there are.
    """

    def __init__(self, first: nn.Module, units: int, edge_rows: int) -> None:
        super().__init__(first, units)
        self.edges = FeatureMap(edge_rows, units)

    def forward(self, h: Tensor, graphs: Graphs) -> Tensor:
        """``[N, ·]`` to ``[N, units]``; ``graphs`` come from ``read_edges``."""
        assert graphs.edge_attr is not None
        is_first = not isinstance(self.first, nn.Linear)
        h = self.first(h) if is_first else h
        h = h + message_sum(h, self.edges(graphs.edge_attr), graphs)
        h = (h if is_first else self.first(h)) + self.bias
        return self.norm(relu(self.second(relu(h))), graphs.node_keep, graphs.split)


class GIN(nn.Module):
    """``layers`` GIN layers; a node's embedding is the concatenation of all of them (Eq. 2, layers 1 … K).

    With ``last`` it is the output of the last layer. ``edges`` says what features the edges have; None means that the
    encoder ignores them. ``dropout`` applies to the input of every layer.

    Example:
        >>> import networkx as nx
        >>> from nmrgcl import GIN, from_networkx
        >>> graphs = from_networkx([nx.cycle_graph(3), nx.path_graph(4)])
        >>> GIN(graphs.num_features, layers=3, units=32)(graphs).shape  # one row per node, three layers of 32
        torch.Size([7, 96])
    """

    def __init__(
        self,
        num_features: int,
        *,
        layers: int = 3,
        units: int = 32,
        dropout: float = 0.0,
        last: bool = False,
        edges: EdgeShape | None = None,
    ) -> None:
        super().__init__()
        self.units = units if last else layers * units
        self.dropout, self.last = dropout, last
        self.edges = None if edges is None else read_edges(edges)
        rows = None if self.edges is None else self.edges.rows
        self.layers = nn.ModuleList(
            GINLayer(first, units) if rows is None else GINELayer(first, units, rows)
            for first in layer_maps(num_features, layers, units)
        )

    def forward(self, graphs: Graphs) -> Tensor:
        """``[N, layers · units]``, or ``[N, units]`` of the last layer."""
        graphs = graphs.merge_added() if self.edges is None else self.edges(graphs)
        h, outputs = graphs.x, []
        for layer in self.layers:
            h = layer(drop_out(h, self.dropout, training=self.training), graphs)
            outputs.append(h)
        return h if self.last else torch.cat(outputs, 1)

    def embed(self, graphs: Graphs, readout: str) -> Tensor:
        """``[B, units]``: ``pool(self(graphs), graphs, readout)``.

        Sums and means of plain layers are computed together with the layers, which on a CPU is faster.
        """
        if readout == "max" or self.edges is not None or self.last or self.dropout:
            return pool(self(graphs), graphs, readout)
        layers = cast("list[GINLayer]", list(self.layers))
        z = layers[0].first(graphs.x)
        total = gin_sums(z, graphs, [layer.weights for layer in layers], training=self.training)
        return total if readout == "sum" else mean_from_sum(total, graphs)
