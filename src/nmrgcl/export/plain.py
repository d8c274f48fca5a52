"""The trained encoders as plain functions of tensors, which torch.export and ONNX can follow.

The encoders themselves sum over sorted rows, choose kernels and remember matrices. Here the same weights go through
gathers and scatters, edges may come in any order, and sizes may change from call to call. Only evaluation is computed:
no masks, no dropout, no gradients.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm, leaky_relu, linear, pad, relu

from nmrgcl.encode import GAT, GCN, GIN, Encoder, MoleculeGIN
from nmrgcl.encode.attention import SLOPE
from nmrgcl.encode.edge_names import EdgeNames
from nmrgcl.encode.norm import MaskedBatchNorm
from nmrgcl.errors import ModelError
from nmrgcl.evaluate.normalise import ColumnScale, Normalise


class Plain(nn.Module):
    """``forward(x, edge_index, …)`` returns ``[N, D]``, or with ``ptr`` and a readout ``[B, D]``.

    Args:
        encoder: whose weights are used.
        readout: ``sum``, ``mean`` or ``max`` over the nodes of each graph; None: rows of nodes.
        scale: of the rows.
        columns: what ``standardise`` and ``squash`` need to know.
    """

    def __init__(
        self,
        encoder: Encoder,
        readout: str | None,
        scale: Normalise = "none",
        columns: ColumnScale | None = None,
    ) -> None:
        super().__init__()
        kind = _PLAIN.get(type(encoder))
        if kind is None:
            raise ModelError(
                "an encoder of your own cannot be exported here: nmrgcl does not know its code; pass the network "
                "itself, model.method.encoder.network, to torch.export"
            )
        self.encoder, self.readout, self.scale = kind(encoder), readout, _Scale(scale, columns)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        ptr: Tensor | None = None,
        edge_attr: Tensor | None = None,
        edge_weight: Tensor | None = None,
    ) -> Tensor:
        """Inputs as PyG has them: the nodes of graph ``g`` are ``ptr[g]:ptr[g + 1]``."""
        h: Tensor = self.encoder(x, edge_index, edge_attr, edge_weight)
        rows: Tensor = self.scale(h if self.readout is None or ptr is None else read_out(h, ptr, self.readout))
        return rows


def read_out(h: Tensor, ptr: Tensor, how: str) -> Tensor:
    """``[B, D]``; a graph without nodes gives zeros."""
    # The graph of a node is the number of graphs that end at or before it. Unlike the result of repeat_interleave, the
    # shape of this one follows from the inputs' shapes.
    ends = h.new_zeros(h.shape[0] + 1, dtype=torch.long).index_add(0, ptr[1:], torch.ones_like(ptr[1:]))
    batch, count = ends.cumsum(0)[:-1], ptr.diff()
    zeros = h.new_zeros(count.shape[0], h.shape[1])
    if how == "max":
        lowest = torch.full_like(zeros, torch.finfo(h.dtype).min)
        largest = lowest.scatter_reduce(0, batch[:, None].expand_as(h), h, "amax")
        return torch.where((count > 0)[:, None], largest, zeros)
    total = zeros.index_add(0, batch, h)
    return total if how == "sum" else total / count.clamp(min=1).to(h.dtype)[:, None]


class _Scale(nn.Module):
    """``normalised`` of evaluate/normalise.py."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, kind: Normalise, columns: ColumnScale | None) -> None:
        super().__init__()
        self.kind = kind
        if kind in ("standardise", "squash"):
            if columns is None:
                raise ModelError(
                    f"normalise = {kind!r}: this model does not know the scale of its embeddings; use none"
                )
            self.register_buffer("mean", torch.from_numpy(columns.mean).float())
            self.register_buffer("deviation", torch.from_numpy(columns.scale).float())

    def forward(self, z: Tensor) -> Tensor:
        if self.kind == "none":
            return z
        if self.kind == "l2":
            length = z.square().sum(1, keepdim=True).sqrt()
            return z / torch.where(length == 0, 1.0, length)
        z = (z - self.mean) / self.deviation
        return z.asinh() if self.kind == "squash" else z


class _Features(nn.Module):
    """``FeatureMap``: columns of one-hot features are looked up, numbers are multiplied."""

    weight: Tensor

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.register_buffer("weight", pad(weight.detach(), (0, 0, 0, 1)))  # -1, "none", is the row of zeros

    def forward(self, x: Tensor) -> Tensor:
        if x.is_floating_point():
            return x @ self.weight[:-1]
        return self.weight[x.remainder(self.weight.shape[0])].sum(1)


class _GIN(nn.Module):
    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.of: Any = encoder
        self.first = _Features(encoder.layers[0].first.weight)
        edges = encoder.edges
        self.names = _Names(edges) if isinstance(edges, EdgeNames) else nn.Identity()
        self.edges = nn.ModuleList(_Features(layer.edges.weight) for layer in encoder.layers if edges is not None)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, weight: Tensor | None) -> Tensor:
        h, outputs = x, []
        for number, layer in enumerate(self.of.layers):
            first = layer.first if number else self.first
            if self.edges:
                # As in GINELayer: the first layer maps features before the messages, the others after.
                h = h if number else first(h)
                message = relu(h[edge_index[0]] + self.edges[number](self.names(edge_attr)))
                h = h + _received(message, edge_index, weight, h)
                h = first(h) if number else h
            else:
                h = first(h)
                h = h + _received(h[edge_index[0]], edge_index, weight, h)
            h = _normed(relu(layer.second(relu(h + layer.bias))), layer.norm)
            outputs.append(h)
        return h if self.of.last else torch.cat(outputs, 1)


class _Molecule(nn.Module):
    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.of: Any = encoder
        self.atoms, self.names = _Features(encoder.atoms.weight), _Names(encoder.bonds)
        self.bonds = nn.ModuleList(_Features(torch.cat(list(layer.tables)[:-1])) for layer in encoder.layers)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor, weight: Tensor | None) -> Tensor:
        named = self.names(edge_attr)
        h, outputs = self.atoms(x), []
        for number, layer in enumerate(self.of.layers):
            message = h[edge_index[0]] + self.bonds[number](named)
            h = h + layer.tables[-1] + _received(message, edge_index, weight, h)
            h = _normed(linear(relu(linear(h, layer.first.weight, layer.first.bias)), layer.second.weight), layer.norm)
            h = relu(h) if number + 1 < len(self.of.layers) else h
            outputs.append(h[:, : self.of.layer_units])
        return outputs[-1] if self.of.last else torch.cat(outputs, 1)


class _Convolutions(nn.Module):
    """What GCN and GAT have in common."""

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.of: Any = encoder
        self.first = _Features(encoder.layers[0].linear.weight)


class _GCN(_Convolutions):
    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, weight: Tensor | None) -> Tensor:
        source, destination = edge_index[0], edge_index[1]
        each = self.first.weight.new_ones(edge_index.shape[1]) if weight is None else weight
        # The 1 is the self-loop that D of A + I counts.
        scale = (each.new_zeros(x.shape[0]).index_add(0, destination, each) + 1).rsqrt()
        share = scale[source] * scale[destination] * each
        h = x
        for number, layer in enumerate(self.of.layers):
            h = layer.linear(h) if number else self.first(h)
            h = _received(h[source], edge_index, share, h) + h * scale.square()[:, None] + layer.bias
            if number < len(self.of.norms):
                h = _normed(h, self.of.norms[number])
            if number < len(self.of.activations):
                h = self.of.activations[number](h)
        return h


class _GAT(_Convolutions):
    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, weight: Tensor | None) -> Tensor:
        source, destination = edge_index[0], edge_index[1]
        h = x
        for number, layer in enumerate(self.of.layers):
            heads = (layer.linear(h) if number else self.first(h)).unflatten(1, layer.source.shape)
            paid, pays = (heads * layer.source).sum(2), (heads * layer.destination).sum(2)
            logit, own = leaky_relu(paid[source] + pays[destination], SLOPE), leaky_relu(paid + pays, SLOPE)
            top = own.scatter_reduce(0, destination[:, None].expand_as(logit), logit, "amax")
            share, own = (logit - top[destination]).exp(), (own - top).exp()
            total = own.index_add(0, destination, share)
            out = torch.zeros_like(heads).index_add(0, destination, heads[source] * share[:, :, None])
            h = ((out + heads * own[:, :, None]) / total[:, :, None]).flatten(1) + layer.bias
            if number < len(self.of.activations):
                h = self.of.activations[number](h)
        return h


_PLAIN: dict[type, type[nn.Module]] = {GIN: _GIN, MoleculeGIN: _Molecule, GCN: _GCN, GAT: _GAT}


class _Names(nn.Module):
    """``EdgeNames`` for values alone."""

    first: Tensor
    last: Tensor

    def __init__(self, names: EdgeNames) -> None:
        super().__init__()
        self.register_buffer("first", names.first)
        self.register_buffer("last", names.last)

    def forward(self, values: Tensor) -> Tensor:
        return torch.where((values >= 1) & (values <= self.last), values + self.first, -1)


def _received(message: Tensor, edge_index: Tensor, weight: Tensor | None, h: Tensor) -> Tensor:
    """``[N, D]``: the messages ``[E, D]`` summed at their destinations."""
    message = message if weight is None else message * weight[:, None]
    return torch.zeros_like(h).index_add(0, edge_index[1], message)


def _normed(h: Tensor, norm: MaskedBatchNorm) -> Tensor:
    return batch_norm(h, norm.running_mean, norm.running_var, norm.weight, norm.bias, False, 0.0, norm.eps)
