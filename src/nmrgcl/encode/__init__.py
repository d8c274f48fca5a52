"""Encoders: Graphs → node embeddings → graph embeddings."""

from nmrgcl.encode.gin import GIN
from nmrgcl.encode.heads import Head
from nmrgcl.encode.pool import POOLS, pool
from nmrgcl.errors import SettingError, nearest

ENCODERS = {"gin": GIN}

__all__ = ["ENCODERS", "GIN", "POOLS", "Head", "build_encoder", "pool"]


def build_encoder(name: str, num_features: int, *, layers: int, units: int) -> GIN:
    """The encoder called ``name``, freshly initialised from torch's global generator."""
    if name not in ENCODERS:
        raise SettingError(f"unknown encoder {name!r}; {nearest(name, ENCODERS)}")
    return ENCODERS[name](num_features, layers=layers, units=units)
