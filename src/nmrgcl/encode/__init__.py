"""Encoders: Graphs → node embeddings → graph embeddings."""

from nmrgcl.encode.gin import GIN
from nmrgcl.encode.heads import Head
from nmrgcl.encode.molecule import MoleculeGIN
from nmrgcl.encode.pool import POOLS, pool
from nmrgcl.errors import SettingError, nearest

Encoder = GIN | MoleculeGIN
ENCODERS: dict[str, type[GIN] | type[MoleculeGIN]] = {"gin": GIN, "molecule": MoleculeGIN}

__all__ = ["ENCODERS", "GIN", "POOLS", "Encoder", "Head", "MoleculeGIN", "build_encoder", "pool"]


def build_encoder(name: str, num_features: int, *, layers: int, units: int) -> Encoder:
    """The encoder called ``name``, freshly initialised from torch's global generator."""
    if name not in ENCODERS:
        raise SettingError(f"unknown encoder {name!r}; {nearest(name, ENCODERS)}")
    return ENCODERS[name](num_features, layers=layers, units=units)
