"""The linear maps that layers start with: of features, then of embeddings."""

import torch
from torch import Tensor, nn

from nmrgcl.ops.look_up import look_up
from nmrgcl.ops.sparse_product import sparse_product
from nmrgcl.sparse_rows import is_sparse


class FeatureMap(nn.Module):
    """Linear map of features without bias; categorical features are looked up instead of multiplied."""

    def __init__(self, num_features: int, units: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(num_features, units)))

    def forward(self, x: Tensor) -> Tensor:
        """``[N, F]`` dense or sparse, or ``[N, C]`` categorical, to ``[N, units]``."""
        if is_sparse(x):
            return sparse_product(x, self.weight)
        return x.to(self.weight.dtype) @ self.weight if x.is_floating_point() else look_up(self.weight, x)


def layer_maps(num_features: int, layers: int, units: int) -> list[nn.Module]:
    """One linear map without bias for each of ``layers`` layers: of features, then of ``units``."""
    maps: list[nn.Module] = [FeatureMap(num_features, units)]
    for _ in range(layers - 1):
        # A bias here would be added once per neighbour; layers add theirs after the sum.
        linear = nn.Linear(units, units, bias=False)
        nn.init.xavier_uniform_(linear.weight)
        maps.append(linear)
    return maps
