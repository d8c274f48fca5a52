"""A three-layer GCN of PyTorch Geometric as the encoder, for every method that leaves it open.

nmrgcl pretrain MUTAG --encoder pyg_gcn.py:GCN3 --set encoder.units=64 --out runs/gcn3
nmrgcl evaluate runs/gcn3 MUTAG
nmrgcl sweep MUTAG --encoder pyg_gcn.py:GCN3 --method nmrgcl --method graphcl --method untrained
"""

from torch import Tensor, nn
from torch_geometric.nn import GCNConv


class GCN3(nn.Module):
    """Returns one row per node, which nmrgcl pools; a row per graph would do as well."""

    def __init__(self, in_channels: int, hidden_channels: int = 64) -> None:
        super().__init__()
        widths = (in_channels, hidden_channels, hidden_channels)
        self.convolutions = nn.ModuleList(GCNConv(width, hidden_channels) for width in widths)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """``[N, hidden_channels]``; ``batch`` and ``edge_attr`` come to those who name them."""
        for convolution in self.convolutions:
            x = convolution(x, edge_index, edge_weight).relu()
        return x
