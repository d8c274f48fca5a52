"""The graph isomorphism network for molecules of Hu et al. 2020, with embeddings of atoms and bonds."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, pad

from nmrgcl.data.molecules.vocabulary import BONDS
from nmrgcl.encode.activation import drop_out
from nmrgcl.encode.edge_names import EdgeNames, EdgeShape
from nmrgcl.encode.feature_map import FeatureMap
from nmrgcl.encode.norm import MaskedBatchNorm
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.ops import to_autocast
from nmrgcl.ops.linear import aligned_width, linear_relu
from nmrgcl.ops.neighbour_sum import edge_counts, neighbour_sum


class MoleculeLayer(nn.Module):
    """``BatchNorm(MLP(Σ (h_u + e_uv)))`` over neighbours and the node itself; the MLP is twice as wide inside.

    Each layer has its own embeddings of bonds; the last table belongs to the loop from every node to itself. Hu et al.
    also learn a vector for "no direction", which the vectors of the types can absorb. Here it is zero, so an edge that
    a view has added, which has neither type nor direction, adds nothing to its message.
    """

    def __init__(self, units: int, bonds: Sequence[int]) -> None:
        super().__init__()
        self.tables = nn.ParameterList(nn.init.xavier_uniform_(torch.empty(rows, units)) for rows in (*bonds, 1))
        self.first = nn.Linear(units, 2 * units)
        self.second = nn.Linear(2 * units, units, bias=False)  # the norm would remove a bias
        self.norm = MaskedBatchNorm(aligned_width(units))
        nn.init.xavier_uniform_(self.first.weight)
        nn.init.zeros_(self.first.bias)
        nn.init.xavier_uniform_(self.second.weight)
        # Padded after they are drawn, so that Xavier's bounds are those of the width without padding.
        spare = aligned_width(units) - units
        for parameter in (*self.tables, self.first.weight):
            parameter.data = pad(parameter.data, (0, spare))
        self.second.weight.data = pad(self.second.weight.data, (0, 0, 0, spare))

    def forward(self, h: Tensor, graphs: Graphs, counts: Tensor, *, relu: bool) -> Tensor:
        """``[N, width]`` to ``[N, width]``; ``counts`` (``[N, K]``) are the ``edge_counts`` of ``graphs``."""
        # Σ e_uv is a product of how often each row occurs at a node and the table, so no message [E, D] is stored.
        table = torch.cat(list(self.tables))
        h = neighbour_sum(h, graphs, self_weight=1.0, edge_table=table, edge_counts=counts, looped=True)
        h = linear_relu(h, self.first.weight, self.first.bias)
        return self.norm(linear(h, self.second.weight), graphs.node_keep, graphs.split, relu=relu)


class MoleculeGIN(nn.Module):
    """``layers`` layers with ReLU between them; a node's embedding is the last one's output.

    With ``last=False`` it is the concatenation of the outputs of all layers. ``dropout`` applies to the output of every
    layer, including the last.

    Atoms are categorical ``x``: each column (type, chirality) names a row of one table of ``num_features`` rows, and
    the named rows are added. Bonds are int64 ``edge_attr`` ``[E, C]``, numbered from 1 in each column, with 0 for none:
    type and direction, or whatever labels ``edges`` counts.

    Internally ``units`` are rounded up to a width that a GPU multiplies fast, 304 for 300. The spare weights start at
    zero; nothing depends on them, so their gradients are zero and they stay zero.

    Five layers of 300 units have 1,853,400 parameters without the spare ones: 123 · 300 for atoms and, per layer,
    7 · 300 for bonds, 180,600 and 180,000 for the two maps of the MLP, and 600 for the norm. The published network has
    1,857,900. Of its 900 more per layer, 300 are for masked bonds, of which there are none here; 300 are for "no
    direction", which the vectors of the types absorb; and 300 are a bias that the norm removes.

    Example:
        >>> import torch
        >>> from nmrgcl import Graphs, MoleculeGIN
        >>> bond, carbons, single = torch.tensor([[0, 1], [1, 0]]), torch.tensor([[5], [5]]), torch.tensor([[1], [1]])
        >>> ethane = Graphs.build(bond, torch.tensor([0, 2]), x=carbons, num_features=119, edge_attr=single)
        >>> MoleculeGIN(119, layers=2, units=16, edges=(4,))(ethane).shape  # one row per atom
        torch.Size([2, 16])
    """

    def __init__(
        self,
        num_features: int,
        *,
        layers: int = 5,
        units: int = 300,
        dropout: float = 0.0,
        last: bool = True,
        edges: EdgeShape = BONDS,
    ) -> None:
        super().__init__()
        if isinstance(edges, int):
            raise SettingError(
                "encoder molecule reads labels of edges, not attributes; set data.edges=labels or use encoder.name=gin"
            )
        self.units = units if last else layers * units
        self.dropout, self.last, self.layer_units = dropout, last, units
        self.atoms, self.bonds = FeatureMap(num_features, units), EdgeNames(edges)
        self.atoms.weight.data = pad(self.atoms.weight.data, (0, aligned_width(units) - units))
        self.layers = nn.ModuleList(MoleculeLayer(units, edges) for _ in range(layers))

    def forward(self, graphs: Graphs) -> Tensor:
        """``[N, units]`` of the last layer, or ``[N, layers · units]``."""
        graphs = self.bonds(graphs)
        h, outputs = self.atoms(graphs.x), []
        h = to_autocast(h)  # otherwise the first sum would read and write twice as much as the others
        counts = edge_counts(graphs, self.bonds.rows + 1, looped=True).to(h.dtype)
        for number, layer in enumerate(self.layers):
            h = layer(h, graphs, counts, relu=number + 1 < len(self.layers))
            h = drop_out(h, self.dropout, training=self.training)
            if not self.last:
                # The spare columns are no part of an embedding.
                outputs.append(h[:, : self.layer_units])
        return h[:, : self.units] if self.last else torch.cat(outputs, 1)
