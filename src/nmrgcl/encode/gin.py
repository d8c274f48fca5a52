"""Graph isomorphism network (Xu et al. 2019) as GraphCL uses it."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, embedding_bag, pad, relu

from nmrgcl.encode.aggregate import neighbour_sum
from nmrgcl.encode.norm import MaskedBatchNorm
from nmrgcl.encode.sparse_product import sparse_product
from nmrgcl.graphs import Graphs
from nmrgcl.sparse_rows import is_sparse

FEW_NAMES = 256
"""Up to this many columns the one-hot form of a batch is small beside its embeddings."""


class FeatureMap(nn.Module):
    """Linear map of node features without bias; categorical features are looked up, not multiplied."""

    def __init__(self, num_features: int, units: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(num_features, units)))

    def forward(self, x: Tensor) -> Tensor:
        """``[N, F]`` dense or sparse, or ``[N, C]`` categorical, to ``[N, units]``."""
        if is_sparse(x):
            return sparse_product(x, self.weight)
        if x.is_floating_point():
            return x.to(self.weight.dtype) @ self.weight
        table = pad(self.weight, (0, 0, 0, 1))  # column -1, "none", becomes the row of zeros at the end
        row = x.remainder(table.shape[0])
        if x.shape[1] == 1:
            few = table.is_cuda and table.shape[0] <= FEW_NAMES
            return _LookUp.apply(table, row.squeeze(1)) if few else embedding(row.squeeze(1), table)
        return embedding_bag(row, table, mode="sum")


class _LookUp(torch.autograd.Function):
    """``embedding`` on a GPU: its own backward sorts the rows, where a product with their one-hot form will do."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, row: Tensor) -> Tensor:
        ctx.save_for_backward(row)
        ctx.names = table.shape[0]
        return table.index_select(0, row)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (row,) = ctx.saved_tensors
        names = torch.arange(ctx.names, device=row.device)
        return (names[:, None] == row).to(grads[0].dtype) @ grads[0], None


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
