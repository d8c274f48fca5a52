"""Graph isomorphism network (Xu et al. 2019) as GraphCL uses it."""

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, embedding_bag, pad, relu

from nmrgcl.encode.aggregate import neighbour_sum
from nmrgcl.encode.norm import MaskedBatchNorm
from nmrgcl.graphs import Graphs


class FeatureMap(nn.Module):
    """Linear map of node features without bias; categorical features are looked up, not multiplied."""

    def __init__(self, num_features: int, units: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(num_features, units)))

    def forward(self, x: Tensor) -> Tensor:
        """``[N, F]`` dense or ``[N, C]`` categorical to ``[N, units]``."""
        if x.is_floating_point():
            return x.to(self.weight.dtype) @ self.weight
        table = pad(self.weight, (0, 0, 0, 1))  # column -1, "none", becomes the row of zeros at the end
        row = x.remainder(table.shape[0])
        if x.shape[1] == 1:
            return embedding(row.squeeze(1), table)
        return embedding_bag(row, table, mode="sum")


class GINLayer(nn.Module):
    """``BatchNorm(ReLU(MLP((1 + ε)·h + Σ neighbours)))`` with two linear maps in the MLP and ε = 0.

    The first of them commutes with the sum over neighbours, so it is applied before: on one-hot features the
    sum then has ``units`` columns and not as many as there are features.
    """

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
        h = neighbour_sum(self.first(h), graphs, self_weight=1.0) + self.bias
        return self.norm(relu(self.second(relu(h))), graphs.node_keep)


class GIN(nn.Module):
    """``layers`` GIN layers; a node's embedding is the concatenation of all of them (Eq. 2, layers 1 … K)."""

    def __init__(self, num_features: int, *, layers: int = 3, units: int = 32) -> None:
        super().__init__()
        self.units = layers * units
        firsts: list[nn.Module] = [FeatureMap(num_features, units)]
        for _ in range(layers - 1):
            linear = nn.Linear(units, units, bias=False)
            nn.init.xavier_uniform_(linear.weight)
            firsts.append(linear)
        self.layers = nn.ModuleList(GINLayer(first, units) for first in firsts)

    def forward(self, graphs: Graphs) -> Tensor:
        """``[N, layers · units]``."""
        graphs = graphs.merge_added()
        h, outputs = graphs.x, []
        for layer in self.layers:
            h = layer(h, graphs)
            outputs.append(h)
        return torch.cat(outputs, 1)
