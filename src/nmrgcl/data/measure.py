"""Measure the contents of a dataset."""

from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import torch

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.molecule_rows import MoleculeRows
from nmrgcl.errors import DataError

_DEGREES = (0, 1, 2, 3, 4, 8, 16, 32, 64)


def measure(dataset: Dataset) -> dict[str, Any]:
    """Return sizes, degrees, features and classes, and how many edges were removed or added, as plain values."""
    statistics, structure = dataset.statistics, _structure(dataset)
    sizes, degrees = structure.sizes, structure.degrees
    labels, attributes = dataset.node_labels, dataset.node_attributes
    return {
        "name": dataset.name,
        "source": dataset.source,
        "task": dataset.level,
        "measured": {
            "graphs": statistics.graphs,
            "nodes": round(statistics.avg_nodes, 2),
            "edges": round(statistics.avg_edges, 2),
            "classes": statistics.classes,
        },
        "smallest_graph": int(sizes.min()) if len(sizes) else 0,
        "largest_graph": int(sizes.max()) if len(sizes) else 0,
        "empty_graphs": int((sizes == 0).sum()),
        "isolated_nodes": int((degrees == 0).sum()) if structure.symmetric else None,
        "degrees_from": _degree_histogram(degrees),
        "node_labels": None if labels is None else [len(np.unique(column)) for column in labels.T],
        "node_attributes": None if attributes is None else attributes.shape[1],
        "edge_labels": None if dataset.edge_labels is None else dataset.edge_labels.shape[1],
        "edge_attributes": None if dataset.edge_attributes is None else dataset.edge_attributes.shape[1],
        "tasks": None if dataset.molecules is None else _tasks(dataset.molecules),
        "invalid_rows": None if dataset.molecules is None else _invalid(dataset.molecules),
        "weighted": structure.weighted,
        "directed": not structure.symmetric,
        "class_sizes": _class_sizes(dataset),
        "left_out": {"self-loops": dataset.self_loops, "repeated edges": dataset.duplicate_edges},
        "one_way_edges": dataset.one_way_edges,
        "public_split": _split_sizes(dataset.public_split),
    }


class _Structure(NamedTuple):
    """Sizes ``[B]`` of the graphs, degrees ``[N]`` of the nodes, and properties of all edges."""

    sizes: torch.Tensor
    degrees: torch.Tensor
    symmetric: bool
    weighted: bool


def _structure(dataset: Dataset) -> _Structure:
    """Measure the structure; a store is measured without reading its graphs, which may not fit in memory."""
    if dataset.store is not None:
        with suppress(DataError):  # a damaged store; reading the graphs below raises or repairs it
            store = dataset.store.check_bytes()
            degrees = torch.from_numpy(store.arrays["degree"].astype(np.int64))
            return _Structure(store.sizes()[0], degrees, store.symmetric, "edge_weight" in store.arrays)
    graphs = dataset.graphs
    return _Structure(graphs.node_ptr.diff(), graphs.row_ptr.diff(), graphs.symmetric, graphs.edge_weight is not None)


def _degree_histogram(degrees: torch.Tensor) -> dict[int, int]:
    """Count the nodes by degree; each bin ends where the next begins."""
    place = torch.bucketize(degrees, torch.tensor(_DEGREES[1:]), right=True)
    return dict(zip(_DEGREES, place.bincount(minlength=len(_DEGREES)).tolist(), strict=True))


def _tasks(molecules: MoleculeRows) -> dict[str, int]:
    """Return the number of labelled molecules of each task."""
    return dict(zip(molecules.tasks, (~np.isnan(molecules.targets)).sum(0).tolist(), strict=True))


def _invalid(molecules: MoleculeRows) -> dict[str, Any]:
    """Return how many rows of the file are not molecules, and the first of them."""
    first = {f"line {one.row}": f"{one.text!r}: {one.reason}" for one in molecules.invalid[:5]}
    return {"rows": molecules.skipped, **first}


def _class_sizes(dataset: Dataset) -> dict[Any, int]:
    y = dataset.y
    if y is None:
        return {}
    # Missing labels are -1, so the first count is theirs.
    counts = np.bincount(y + 1, minlength=len(dataset.classes) + 1).tolist()
    missing = {"no label": counts[0]} if counts[0] else {}
    return dict(zip(dataset.classes, counts[1:], strict=True)) | missing


def _split_sizes(split: np.ndarray | None) -> dict[str, int] | None:
    if split is None:
        return None
    return {part: int((split == i).sum()) for i, part in enumerate(("train", "valid", "test"), 1)}
