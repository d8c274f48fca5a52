"""The data of a cell: the graphs to train on, the labels to evaluate against, and a record of both.

Consecutive cells mostly need the same data, so the last one loaded is cached under the checksums of its files.
"""

import hashlib
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nmrgcl.data.catalog import find
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.featured import featured_store
from nmrgcl.data.features import FeatureSpec, apply_features, features_for
from nmrgcl.data.loading import load
from nmrgcl.data.verify import require
from nmrgcl.errors import DataError, SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.run.cases import Truth
from nmrgcl.run.cell import OF_MOLECULES, Cell
from nmrgcl.run.recipe import require_level
from nmrgcl.settings import Settings
from nmrgcl.sparse_rows import is_sparse
from nmrgcl.train.feed import Source, fit, sample

AT_A_TIME = 65_536
"""How many graphs of a store are in memory at once while their digest is computed."""


@dataclass(frozen=True)
class CellData:
    """Graphs and labels of a cell; cells share them, so nothing may modify them.

    Attributes:
        graphs: the graphs with their features, on the device.
        features: how the features were made.
        truth: the labels of graphs or nodes.
        record: name, sizes and SHA-256 of the data that training sees.
        start: the dataset to pre-train on, if it is another one.
    """

    graphs: Graphs
    features: FeatureSpec
    truth: Truth
    record: dict[str, Any]
    start: Dataset | None = None

    def source(self, settings: Settings) -> Source:
        """The graphs that a training with ``settings`` uses; a separate pre-training dataset is only read here."""
        if self.start is None:
            return sample(self.graphs, settings.train.max_graphs)
        return training_source(self.start, self.features, settings, self.graphs.device)

    @property
    def sha256(self) -> str:
        """The digest of the training data."""
        return str((self.record.get("start") or self.record)["sha256"])


_last: list[tuple[Hashable, CellData]] = []


def load_cell_data(cell: Cell, device: torch.device) -> CellData:
    """The graphs and labels of the dataset that ``cell`` names; the dataset is looked up on every call."""
    dataset = _load(cell.dataset, cell.settings)
    start = _load(cell.start.dataset, cell.start.settings) if cell.start else None
    identity = _identity(cell, dataset, start, device)
    if identity is None or not _last or _last[0][0] != identity:
        _last.clear()  # Before the next data is loaded: memory may not hold both.
        data = _build(cell, dataset, start, device)
        if identity is None:
            return data
        _last.append((identity, data))
    return _last[0][1]


def _load(name: str, settings: Settings) -> Dataset:
    """Load the dataset with this name or path and check that it suits ``settings``."""
    dataset, entry = load(name), find(name)
    if entry is not None:
        require(dataset, entry)  # A folder of the same name in the working directory must not pass for the dataset.
    require_level(dataset, settings)
    return dataset


def _identity(cell: Cell, dataset: Dataset, start: Dataset | None, device: torch.device) -> Hashable:
    """A cache key that identifies the data; None if the data was not read from files with checksums."""
    stores = [one.store for one in (dataset, start) if one is not None]
    if None in stores:
        return None
    files = tuple(frozenset(store.digests.items()) for store in stores if store)
    by_tasks = cell.split in OF_MOLECULES
    # Name and classes are in the manifest of a store, which is not among its digests.
    return (dataset.name, dataset.classes, files, cell.settings.level, by_tasks, cell.settings.data, device)


def _build(cell: Cell, dataset: Dataset, start: Dataset | None, device: torch.device) -> CellData:
    truth = truth_of(cell, dataset)
    # With a start, the encoder is the pre-trained one, which expects the features of its own dataset.
    features = features_for(start or dataset, cell.settings.data)
    graphs = apply_features(dataset, features)
    record = {
        "name": dataset.name,
        "graphs": graphs.num_graphs,
        "nodes": graphs.num_nodes,
        "edges": graphs.num_edges // 2,
        "sha256": digest_of(graphs),
    }
    if start is not None:
        record["start"] = {"name": start.name, "graphs": start.counts[0], "sha256": _dataset_digest(start, features)}
    return CellData(graphs.to(device), features, truth, record, start)


def _dataset_digest(dataset: Dataset, features: FeatureSpec) -> str:
    """A digest of a possibly large dataset, taken from the checksums in its store's manifest where there is one."""
    if dataset.store is None:
        return digest_of(apply_features(dataset, features))
    return hashlib.sha256(repr(sorted(dataset.store.digests.items())).encode()).hexdigest()


def truth_of(cell: Cell, dataset: Dataset) -> Truth:
    """Class labels or, for train/validation/test splits of molecules, the labels of all tasks."""
    if cell.split not in OF_MOLECULES:
        return Truth(class_labels(dataset, cell.settings.level), dataset.public_split)
    if dataset.molecules is None or not dataset.molecules.tasks:
        raise DataError(f"{dataset.name}: split {cell.split} is for molecules with labels; use another dataset")
    return Truth(dataset.molecules.targets, molecules=dataset.molecules)


def training_source(dataset: Dataset, features: FeatureSpec, settings: Settings, device: torch.device) -> Source:
    """The graphs on the device or, if they do not fit there or in host memory, the store to read them from."""
    most = settings.train.max_graphs
    if settings.level == "node":  # A step uses the one graph as a whole or samples from it.
        if most:
            raise SettingError(f"train.max_graphs = {most}: a dataset of nodes has one graph; leave the setting out")
        return apply_features(dataset, features).to(device)
    stored = featured_store(dataset, features)
    part = None if stored is None else sample(stored, most)
    # On their way to a device, graphs are held in host memory as well.
    fits = part is None or all(fit(part, place) for place in (device, torch.device("cpu")))
    if part is not None and (settings.train.chunk_graphs or not fits):
        return part
    if part is None or part is stored:
        part = sample(apply_features(dataset, features), most)
    graphs = part if isinstance(part, Graphs) else part.take(torch.arange(len(part)))
    # Graphs that are too many for the device stay on the host, and training moves them in chunks.
    return graphs.to(device) if fit(graphs, device) and not settings.train.chunk_graphs else graphs


def digest_of(graphs: Source) -> str:
    """SHA-256 of everything that training sees of the graphs; graphs on disk are read in parts."""
    digest = hashlib.sha256()
    nodes, edges = (int(sizes.sum()) for sizes in graphs.sizes())
    lengths = {"node_ptr": (len(graphs) + 1,), "edge_index": (2, edges), "x": (nodes,)}
    # An empty selection has the same tensors and types, and nothing is read from disk for it.
    like = graphs.take(torch.arange(0))
    for name in ("node_ptr", "edge_index", "x", "edge_weight", "edge_attr"):
        if (value := getattr(like, name)) is not None:
            first = lengths.get(name, (edges,))
            # The shape is that of all graphs together, so that a dataset has one digest in memory and on disk.
            digest.update(f"{value.dtype}{(*first, *value.shape[len(first) :])}".encode())
            for part in _flat_parts(graphs, name):
                digest.update(part.detach().cpu().contiguous().reshape(-1).numpy().data)
    return digest.hexdigest()


def _flat_parts(graphs: Source, name: str) -> Iterator[Tensor]:
    """The tensor ``name`` of all graphs in consecutive parts."""
    if isinstance(graphs, Graphs):
        values = getattr(graphs, name)
        yield from (values.crow_indices(), values.col_indices(), values.values()) if is_sparse(values) else (values,)
        return
    for row in (0, 1) if name == "edge_index" else (None,):  # In memory, all sources precede all destinations.
        nodes = 0
        for index in torch.arange(len(graphs)).split(AT_A_TIME):
            part = graphs.take(index)
            if name == "node_ptr":
                # The first pointer of a part is the last one of the part before.
                yield part.node_ptr[min(1, int(index[0])) :] + nodes
            else:
                yield getattr(part, name) if row is None else part.edge_index[row] + nodes
            nodes += part.num_nodes


def class_labels(dataset: Dataset, level: str) -> np.ndarray:
    """``[B]`` or ``[N]`` class codes of the graphs or nodes; -1 marks a missing label."""
    if dataset.y is None or dataset.level != level or not (dataset.y >= 0).any():
        has = (
            "has labels of nodes only"
            if dataset.level == "node" and dataset.y is not None
            else f"has no {level} labels"
        )
        raise DataError(f"{dataset.name}: {has}, so {level} embeddings cannot be evaluated on it")
    return dataset.y
