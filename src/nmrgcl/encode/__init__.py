"""Encoders: Graphs → node embeddings → graph embeddings."""

from inspect import signature
from typing import Any

from torch import Tensor

from nmrgcl import own_code
from nmrgcl.encode.edge_names import EdgeShape
from nmrgcl.encode.foreign import Foreign
from nmrgcl.encode.gat import GAT
from nmrgcl.encode.gcn import GCN
from nmrgcl.encode.gin import GIN
from nmrgcl.encode.heads import Head, NormedHead, ResidualHead
from nmrgcl.encode.molecule import MoleculeGIN
from nmrgcl.encode.named import encoder_label, is_own, make_network
from nmrgcl.encode.pool import POOLS, pool
from nmrgcl.errors import SettingError, nearest
from nmrgcl.graphs import Graphs

Encoder = GIN | MoleculeGIN | GCN | GAT | Foreign
ENCODERS: dict[str, type[GIN] | type[MoleculeGIN] | type[GCN] | type[GAT]] = {
    "gin": GIN,
    "molecule": MoleculeGIN,
    "gcn": GCN,
    "gat": GAT,
}

__all__ = [
    "ENCODERS",
    "GAT",
    "GCN",
    "GIN",
    "POOLS",
    "EdgeShape",
    "Encoder",
    "Foreign",
    "Head",
    "MoleculeGIN",
    "NormedHead",
    "ResidualHead",
    "build_encoder",
    "embed_graphs",
    "pool",
]


def build_encoder(
    name: str,
    num_features: int,
    *,
    layers: int,
    units: int,
    activation: str = "relu",
    activate_last: bool = True,
    dropout: float = 0.0,
    norm: str = "none",
    jk: str = "auto",
    edges: EdgeShape | None = None,
) -> Encoder:
    """The encoder called ``name``, freshly initialised from torch's global generator.

    If edges have features (``edges``), the encoder must be one that reads them. A user's own network checks that
    itself.

    Example:
        >>> from nmrgcl import build_encoder
        >>> build_encoder("gin", 7, layers=3, units=32).units
        96
    """
    if name not in ENCODERS and not is_own(name):
        if own_code.is_path(name.partition(":")[0]):
            raise SettingError(f"{name}: a file is named with --encoder, or encoder= in Python, and nowhere else")
        raise SettingError(f"unknown encoder {name!r}; {nearest(name, ENCODERS)}")
    kind = ENCODERS.get(name)
    if kind is not None and edges is not None and "edges" not in signature(kind).parameters:
        able = " or ".join(other for other, kind in ENCODERS.items() if "edges" in signature(kind).parameters)
        raise SettingError(f"encoder {name} reads no edge features; set data.edges=none or use encoder.name={able}")
    if norm != "none" and kind is not GCN:
        raise SettingError(
            f"encoder {encoder_label(name)} normalises in its own way; leave encoder.norm out, or use encoder.name=gcn"
        )
    if jk == "cat" and kind not in (GIN, MoleculeGIN):
        raise SettingError(
            f"encoder {encoder_label(name)} embeds a node by its last layer; leave encoder.jk out, or use "
            "encoder.name=gin"
        )
    size: dict[str, Any] = {"layers": layers, "units": units}
    between: dict[str, Any] = {"activation": activation, "activate_last": activate_last, "dropout": dropout}
    if kind is GCN:
        return GCN(num_features, **size, **between, norm=norm == "batch")
    if kind is GAT:
        return GAT(num_features, **size, **between)
    if (activation, activate_last) != ("relu", True) or (dropout > 0 and kind is None):
        raise SettingError(
            f"encoder {encoder_label(name)} has activations of its own{' and no dropout' if kind is None else ''}; "
            "leave encoder.activation, activate_last and dropout out, or use encoder.name=gcn or gat"
        )
    if kind is GIN:
        return GIN(num_features, **size, dropout=dropout, last=jk == "last", edges=edges)
    if kind is MoleculeGIN:
        shape: dict[str, Any] = {} if edges is None else {"edges": edges}
        return MoleculeGIN(num_features, **size, dropout=dropout, last=jk != "cat", **shape)
    return Foreign(make_network(name, num_features=num_features, **size), num_features, name)


def embed_graphs(encoder: Encoder, graphs: Graphs, readout: str) -> Tensor:
    """``[B, D]``: nodes encoded and read out."""
    if isinstance(encoder, GIN):
        return encoder.embed(graphs, readout)
    if isinstance(encoder, Foreign):
        graphs = graphs.compact()
        return encoder(graphs) if encoder.pooled else pool(encoder(graphs), graphs, readout)
    return pool(encoder(graphs), graphs, readout)
