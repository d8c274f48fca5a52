"""The datasets that benchmarks run on."""

from collections.abc import Sequence

import torch

from nmrgcl.data.catalog import find
from nmrgcl.data.features import apply_features, choose_features
from nmrgcl.data.loading import load
from nmrgcl.data.locate import locate
from nmrgcl.graphs import Graphs

USUAL = ("MUTAG", "NCI1", "PROTEINS", "IMDB-BINARY")


def at_hand(names: Sequence[str] = USUAL) -> list[str]:
    """Those of ``names`` whose files are available without a download."""
    entries = ((name, find(name)) for name in names)
    return [name for name, entry in entries if entry is not None and locate(entry) is not None]


def load_graphs(name: str, device: torch.device) -> Graphs:
    """A dataset with the features that a run would choose by default."""
    dataset = load(name)
    return apply_features(dataset, choose_features(dataset)).to(device)
