"""Graph isomorphism network (Xu et al. 2019) as GraphCL uses it, and with edge features (Hu et al. 2020)."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, embedding_bag, pad, relu

from nmrgcl import ops
from nmrgcl.encode.activation import drop_out
from nmrgcl.encode.aggregate import neighbour_sum
from nmrgcl.encode.edge_names import EdgeShape, read_edges
from nmrgcl.encode.messages import message_sum
from nmrgcl.encode.narrow import fits_narrow_layer, narrow_layer
from nmrgcl.encode.norm import MaskedBatchNorm
from nmrgcl.encode.sparse_product import sparse_product
from nmrgcl.graphs import Graphs
from nmrgcl.sparse_rows import is_sparse

FEW_NAMES = 256
"""Up to this many columns the one-hot form of a batch is small beside its embeddings."""


class FeatureMap(nn.Module):
    """Linear map of features without bias; categorical features are looked up, not multiplied."""

    def __init__(self, num_features: int, units: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(num_features, units)))

    def forward(self, x: Tensor) -> Tensor:
        """``[N, F]`` dense or sparse, or ``[N, C]`` categorical, to ``[N, units]``."""
        if is_sparse(x):
            return sparse_product(x, self.weight)
        if x.is_floating_point():
            return x.to(self.weight.dtype) @ self.weight
        if ops.serve(self.weight) and self.weight.shape[0] <= FEW_NAMES:
            result: Tensor = _LookUp.apply(self.weight, x)
            return result
        table = pad(self.weight, (0, 0, 0, 1))  # column -1, "none", becomes the row of zeros at the end
        row = x.remainder(table.shape[0])
        if x.shape[1] > 1:
            return embedding_bag(row, table, mode="sum")
        return embedding(row.squeeze(1), table) if x.is_cuda else _LookUpOne.apply(table, row.squeeze(1))


def layer_maps(num_features: int, layers: int, units: int) -> list[nn.Module]:
    """The linear maps without bias that ``layers`` layers start with: of features, then of ``units``."""
    maps: list[nn.Module] = [FeatureMap(num_features, units)]
    for _ in range(layers - 1):
        linear = nn.Linear(units, units, bias=False)
        nn.init.xavier_uniform_(linear.weight)
        maps.append(linear)
    return maps


class _LookUp(torch.autograd.Function):
    """Few names on a GPU, where the backward pass of ``embedding`` would sort them."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, names: Tensor) -> Tensor:
        from nmrgcl.ops.triton.look_up import look_up

        ctx.save_for_backward(names)
        ctx.count = table.shape[0]
        return look_up(table, names)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        from nmrgcl.ops.triton.look_up import look_up_gradient

        (names,) = ctx.saved_tensors
        return look_up_gradient(grads[0].contiguous(), names, ctx.count), None


class _LookUpOne(torch.autograd.Function):
    """``embedding`` on a CPU, whose backward pass goes through the rows once for every row of the table."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, row: Tensor) -> Tensor:
        ctx.save_for_backward(row)
        ctx.count = table.shape[0]
        return table.index_select(0, row)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (row,) = ctx.saved_tensors
        return grads[0].new_zeros(ctx.count, grads[0].shape[1]).index_add_(0, row, grads[0]), None


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
        matrix = self.first.weight if isinstance(self.first, nn.Linear) else None
        if matrix is None:
            h = self.first(h)
        if self.training and fits_narrow_layer(h, graphs):
            return narrow_layer(h, graphs, matrix, self.bias, self.second.weight, self.second.bias, self.norm)
        h = h if matrix is None else self.first(h)
        h = neighbour_sum(h, graphs, self_weight=1.0) + self.bias
        return self.norm(relu(self.second(relu(h))), graphs.node_keep, graphs.split)


class GINELayer(GINLayer):
    """``BatchNorm(ReLU(MLP((1 + ε)·h + Σ ReLU(h_u + e_uv))))`` with the MLP of ``GINLayer`` and ε = 0.

    Each layer has its own map of edge features: e_uv is the sum of the rows that an edge's labels name, or a linear map
    of its attributes. The first layer maps node features before the messages, not after: these then have ``units``
    columns and not as many as there are features.
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

    With ``last`` it is the output of the last one. ``edges`` says what features the edges have; None: the encoder does
    not look at them. ``dropout`` is that of the values that a layer is given.
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
