"""Encoders: Graphs → node embeddings → graph embeddings."""

from nmrgcl.encode.gat import GAT
from nmrgcl.encode.gcn import GCN
from nmrgcl.encode.gin import GIN
from nmrgcl.encode.heads import Head
from nmrgcl.encode.molecule import MoleculeGIN
from nmrgcl.encode.pool import POOLS, pool
from nmrgcl.errors import SettingError, nearest

Encoder = GIN | MoleculeGIN | GCN | GAT
ENCODERS: dict[str, type[GIN] | type[MoleculeGIN] | type[GCN] | type[GAT]] = {
    "gin": GIN,
    "molecule": MoleculeGIN,
    "gcn": GCN,
    "gat": GAT,
}

__all__ = ["ENCODERS", "GAT", "GCN", "GIN", "POOLS", "Encoder", "Head", "MoleculeGIN", "build_encoder", "pool"]


def build_encoder(
    name: str,
    num_features: int,
    *,
    layers: int,
    units: int,
    activation: str = "relu",
    activate_last: bool = True,
    dropout: float = 0.0,
) -> Encoder:
    """The encoder called ``name``, freshly initialised from torch's global generator."""
    if name not in ENCODERS:
        raise SettingError(f"unknown encoder {name!r}; {nearest(name, ENCODERS)}")
    kind = ENCODERS[name]
    if issubclass(kind, GCN | GAT):
        return kind(
            num_features,
            layers=layers,
            units=units,
            activation=activation,
            activate_last=activate_last,
            dropout=dropout,
        )
    if (activation, activate_last, dropout) != ("relu", True, 0.0):
        raise SettingError(
            f"encoder {name} has activations of its own and no dropout; leave encoder.activation, activate_last and "
            "dropout out, or use encoder.name=gcn or gat"
        )
    return kind(num_features, layers=layers, units=units)
