"""The graph isomorphism network for molecules of Hu et al. 2020, with embeddings of atoms and bonds."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from nmrgcl.data.molecules.vocabulary import BONDS
from nmrgcl.encode.activation import drop_out
from nmrgcl.encode.aggregate import edge_counts, neighbour_sum
from nmrgcl.encode.aligned import aligned, linear_relu, product
from nmrgcl.encode.edge_names import EdgeNames, EdgeShape
from nmrgcl.encode.gin import FEW_NAMES, FeatureMap
from nmrgcl.encode.norm import MaskedBatchNorm
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.ops import serve


class AtomMap(FeatureMap):
    """``FeatureMap`` for several categories a node: on a GPU a product, whose gradient needs no sorting."""

    def forward(self, x: Tensor) -> Tensor:
        """``[N, C]`` categorical to ``[N, units]``."""
        names = self.weight.shape[0]
        if not x.is_cuda or x.is_floating_point() or names > FEW_NAMES:
            return super().forward(x)
        table = pad(self.weight, (0, 0, 0, aligned(names) - names))
        kind = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else table.dtype
        return multi_hot(x, table.shape[0], kind) @ table


def multi_hot(x: Tensor, width: int, dtype: torch.dtype) -> Tensor:
    """``[N, width]`` how often each row of ``x`` (``[N, C]``) names each column; -1 is none."""
    if serve(x):
        from nmrgcl.ops.triton.rows import name_counts

        return name_counts(x.contiguous(), width, dtype)
    return (x[:, :, None] == torch.arange(width, device=x.device)).sum(1, dtype=dtype)


class MoleculeLayer(nn.Module):
    """``BatchNorm(MLP(Σ (h_u + e_uv)))`` over neighbours and the node itself; the MLP is twice as wide inside.

    Each layer embeds bonds anew; the last table is for the loop that every node has to itself. Hu et al. also learn a
    vector for "no direction"; the types' can absorb it, so here it is zero and an edge that a view has added names
    nothing at all.
    """

    def __init__(self, units: int, bonds: Sequence[int]) -> None:
        super().__init__()
        self.tables = nn.ParameterList(nn.init.xavier_uniform_(torch.empty(rows, units)) for rows in (*bonds, 1))
        self.first = nn.Linear(units, 2 * units)
        self.second = nn.Linear(2 * units, units, bias=False)  # the norm takes out what is the same for all nodes
        self.norm = MaskedBatchNorm(aligned(units))
        nn.init.xavier_uniform_(self.first.weight)
        nn.init.zeros_(self.first.bias)
        nn.init.xavier_uniform_(self.second.weight)
        spare = aligned(units) - units
        for parameter in (*self.tables, self.first.weight):
            parameter.data = pad(parameter.data, (0, spare))
        self.second.weight.data = pad(self.second.weight.data, (0, 0, 0, spare))

    def forward(self, h: Tensor, graphs: Graphs, counts: Tensor, *, relu: bool) -> Tensor:
        """``[N, width]`` to ``[N, width]``; ``graphs`` name their bonds, so often as ``counts`` (``[N, K]``) says."""
        table = torch.cat(list(self.tables))
        h = neighbour_sum(h, graphs, self_weight=1.0, edge_table=table, edge_counts=counts, looped=True)
        h = linear_relu(h, self.first.weight, self.first.bias)
        return self.norm(product(h, self.second.weight), graphs.node_keep, graphs.split, relu=relu)


class MoleculeGIN(nn.Module):
    """``layers`` layers with ReLU between them; a node's embedding is the last one's output.

    With ``last=False`` it is the concatenation of the outputs of all layers. ``dropout`` is that of every layer's
    output, the last one's too.

    Atoms are categorical ``x``: each column of it (type, chirality) names the row to add, in one table of
    ``num_features`` rows. Bonds are int64 ``edge_attr`` ``[E, C]``, numbered from 1 in each column, 0 for none: type
    and direction, or whatever labels ``edges`` counts.

    Inside, ``units`` are as many as a GPU multiplies fast, 304 for 300. Weights of the spare ones start at zero;
    nothing depends on them, so their gradients are zero and they stay so.

    Five layers of 300 units have 1,853,400 parameters, the spare ones not counted: 123 · 300 for atoms and, per layer,
    7 · 300 for bonds, 180,600 and 180,000 for the two maps of the MLP, and 600 for the norm. As published there are
    1,857,900. Of the 900 more in each layer, 300 are for bonds that are masked, which no bond here is; 300 are for "no
    direction", which the vectors of the types absorb; 300 are a bias that the norm takes out.
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
        self.atoms, self.bonds = AtomMap(num_features, units), EdgeNames(edges)
        self.atoms.weight.data = pad(self.atoms.weight.data, (0, aligned(units) - units))
        self.layers = nn.ModuleList(MoleculeLayer(units, edges) for _ in range(layers))

    def forward(self, graphs: Graphs) -> Tensor:
        """``[N, units]`` of the last layer, or ``[N, layers · units]``."""
        graphs = self.bonds(graphs)
        h, outputs = self.atoms(graphs.x), []
        if torch.is_autocast_enabled(h.device.type):  # the first sum, too, reads and writes half as much then
            h = h.to(torch.get_autocast_dtype(h.device.type))
        counts = edge_counts(graphs, self.bonds.rows + 1, looped=True).to(h.dtype)
        for number, layer in enumerate(self.layers):
            h = layer(h, graphs, counts, relu=number + 1 < len(self.layers))
            h = drop_out(h, self.dropout, training=self.training)
            if not self.last:
                outputs.append(h[:, : self.layer_units])
        return h[:, : self.units] if self.last else torch.cat(outputs, 1)
