"""Graph attention network (Veličković et al. 2018)."""

import torch
from torch import Tensor, nn

from nmrgcl.encode.activation import build_activation, drop_out
from nmrgcl.encode.attention import attend
from nmrgcl.encode.feature_map import layer_maps
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs

HEADS = 8


class GATLayer(nn.Module):
    """``heads`` attentions side by side, ``units`` numbers in all."""

    def __init__(self, linear: nn.Module, units: int, *, heads: int = HEADS) -> None:
        super().__init__()
        self.linear = linear
        self.source, self.destination = (
            nn.Parameter(nn.init.xavier_uniform_(torch.empty(heads, units // heads))) for _ in range(2)
        )
        self.bias = nn.Parameter(torch.zeros(units))

    def forward(self, h: Tensor, graphs: Graphs, *, drop: float = 0.0) -> Tensor:
        """``[N, ·]`` to ``[N, units]``."""
        heads = self.linear(h).unflatten(1, self.source.shape)
        # a · [Wh_u ‖ Wh_v] is a sum of one share for each end, so it is computed per node and not per edge.
        as_source, as_destination = ((heads * part).sum(2) for part in (self.source, self.destination))
        return attend(heads, as_source, as_destination, graphs, drop=drop).flatten(1) + self.bias


class GAT(nn.Module):
    """``layers`` GAT layers of ``units`` each; dropout also drops attention, as in the paper.

    Example:
        >>> import networkx as nx
        >>> from nmrgcl import GAT, from_networkx
        >>> graphs = from_networkx([nx.cycle_graph(3), nx.path_graph(4)])
        >>> GAT(graphs.num_features, layers=2, units=16)(graphs).shape  # one row per node
        torch.Size([7, 16])
    """

    def __init__(
        self,
        num_features: int,
        *,
        layers: int = 2,
        units: int = 64,
        activation: str = "elu",
        activate_last: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if units % HEADS:
            raise SettingError(f"encoder.units = {units} cannot be shared by {HEADS} heads; use a multiple of {HEADS}")
        self.units, self.dropout = units, dropout
        self.layers = nn.ModuleList(GATLayer(linear, units) for linear in layer_maps(num_features, layers, units))
        self.activations = nn.ModuleList(build_activation(activation) for _ in range(layers - (not activate_last)))

    def forward(self, graphs: Graphs) -> Tensor:
        """``[N, units]``."""
        if graphs.weights_learn:
            raise SettingError("encoder gat does not use edge weights, so they cannot be learned; use gin or gcn")
        graphs = graphs.merge_added()
        h, drop = graphs.x, self.dropout if self.training else 0.0
        for number, layer in enumerate(self.layers):
            h = layer(drop_out(h, drop, training=self.training), graphs, drop=drop)
            if number < len(self.activations):
                h = self.activations[number](h)
        return h
