"""What a cell is computed from: graphs on the device, the truth about them, and a record of both.

Cells that follow each other mostly ask for the same: the last is kept, and known by the checksums of its files.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import torch

from nmrgcl.data.catalog import find
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import apply_features, choose_features
from nmrgcl.data.loading import load
from nmrgcl.data.verify import require
from nmrgcl.graphs import Graphs
from nmrgcl.run.cell import Run
from nmrgcl.run.level import class_labels, require_level
from nmrgcl.run.protocols import Truth
from nmrgcl.run.record import digest_of


@dataclass(frozen=True)
class Material:
    """Nothing of it is ever changed.

    Attributes:
        graphs: with their features, on the device.
        truth: classes of graphs or nodes.
        record: name, sizes and SHA-256 of what training sees.
    """

    graphs: Graphs
    truth: Truth
    record: dict[str, Any]


_kept: list[tuple[Hashable, Material]] = []


def load_material(run: Run, device: torch.device) -> Material:
    """Of the dataset that ``run`` names, which is looked up anew every time."""
    dataset = load(run.dataset)
    entry = find(run.dataset)
    if entry is not None:
        require(dataset, entry)  # a folder of that name, in which the process stands, must not pass for the dataset
    require_level(dataset, run.settings)
    identity = _identity(run, dataset, device)
    if identity is None or not _kept or _kept[0][0] != identity:
        _kept.clear()  # before the next is loaded: both might not fit
        material = _material(run, dataset, device)
        if identity is None:
            return material
        _kept.append((identity, material))
    return _kept[0][1]


def _identity(run: Run, dataset: Dataset, device: torch.device) -> Hashable:
    """What tells its material from any other; None where nothing does, because it was not read from checked files."""
    if dataset.store is None:
        return None
    files = frozenset(dataset.store.digests.items())
    return (dataset.name, dataset.classes, files, run.settings.level, run.settings.data, device)


def _material(run: Run, dataset: Dataset, device: torch.device) -> Material:
    truth = Truth(class_labels(dataset, run.settings.level), dataset.public_split)
    options = run.settings.data
    graphs = apply_features(dataset, choose_features(dataset, options.features, options.max_degree, options.scale))
    record = {
        "name": dataset.name,
        "graphs": graphs.num_graphs,
        "nodes": graphs.num_nodes,
        "edges": graphs.num_edges // 2,
        "sha256": digest_of(graphs),
    }
    return Material(graphs.to(device), truth, record)
