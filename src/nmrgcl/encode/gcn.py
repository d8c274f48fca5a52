"""Graph convolutional network (Kipf & Welling 2017), for the nodes of one graph."""

import torch
from torch import Tensor, nn

from nmrgcl.encode.activation import build_activation, drop_out
from nmrgcl.encode.aggregate import neighbour_sum, normalised_sum
from nmrgcl.encode.gin import layer_maps
from nmrgcl.encode.norm import MaskedBatchNorm
from nmrgcl.graphs import Graphs


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
                h = self.norms[number](h, graphs.node_keep)
            if number < len(self.activations):
                h = self.activations[number](h)
        return h
