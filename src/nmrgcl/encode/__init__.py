"""Encoders: Graphs → node embeddings → graph embeddings."""

from torch import Tensor

from nmrgcl.encode.folded import embed_folded, folds
from nmrgcl.encode.gin import GIN
from nmrgcl.encode.heads import Head
from nmrgcl.encode.molecule import MoleculeGIN
from nmrgcl.encode.pool import POOLS, pool
from nmrgcl.errors import SettingError, nearest
from nmrgcl.graphs import Graphs

Encoder = GIN | MoleculeGIN
ENCODERS: dict[str, type[GIN] | type[MoleculeGIN]] = {"gin": GIN, "molecule": MoleculeGIN}

__all__ = ["ENCODERS", "GIN", "POOLS", "Encoder", "Head", "MoleculeGIN", "build_encoder", "embed_graphs", "pool"]


def build_encoder(name: str, num_features: int, *, layers: int, units: int) -> Encoder:
    """The encoder called ``name``, freshly initialised from torch's global generator."""
    if name not in ENCODERS:
        raise SettingError(f"unknown encoder {name!r}; {nearest(name, ENCODERS)}")
    return ENCODERS[name](num_features, layers=layers, units=units)


def embed_graphs(encoder: Encoder, graphs: Graphs, readout: str) -> Tensor:
    """``[B, D]``: nodes encoded and read out; where the two can be computed as one, they are."""
    if isinstance(encoder, GIN) and folds(encoder, graphs, readout):
        return embed_folded(encoder, graphs, readout)
    return pool(encoder(graphs), graphs, readout)
