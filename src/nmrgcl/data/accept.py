"""Whatever users hold their graphs in, as a dataset."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nmrgcl.data.catalog import load
from nmrgcl.data.conversions import from_networkx, from_pyg
from nmrgcl.data.dataset import Dataset
from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs


def as_dataset(graphs: Any, *, node_feature: str | None = None) -> Dataset:
    """A name or path, a ``Dataset``, ``Graphs``, PyG data, or NetworkX graphs (with ``node_feature``) as a dataset."""
    if isinstance(graphs, Dataset):
        return graphs
    if isinstance(graphs, str | Path):
        return load(str(graphs))
    if isinstance(graphs, Graphs):
        return _from_graphs(graphs)
    items = [graphs] if hasattr(graphs, "edge_index") or hasattr(graphs, "adj") else _listed(graphs)
    if all(hasattr(item, "adj") and hasattr(item, "nodes") for item in items):
        return _from_graphs(from_networkx(items, node_feature=node_feature))
    if all(hasattr(item, "edge_index") for item in items):
        return _from_graphs(from_pyg(items))
    kinds = sorted({type(item).__name__ for item in items})
    raise DataError(f"cannot read graphs from {', '.join(kinds)}; pass a name, a path, PyG data or NetworkX graphs")


def _listed(graphs: Any) -> list[Any]:
    if not isinstance(graphs, Iterable):
        raise DataError(f"cannot read graphs from {type(graphs).__name__}; pass a list of graphs")
    items = list(graphs)
    if not items:
        raise DataError("there are no graphs in the list")
    return items


def _from_graphs(graphs: Graphs) -> Dataset:
    """Features become labels or attributes; the constant feature says nothing, so it counts as none."""
    graphs = graphs.compact().to("cpu")
    x = graphs.x.numpy()
    constant = graphs.num_features == 1 and (x.size == 0 or bool((x == x.flat[0]).all()))
    labels = x.astype(np.int64) if graphs.categorical and not constant else None
    attributes = x.astype(np.float32) if not graphs.categorical and not constant else None
    classes, graphs = _classes(graphs)
    return Dataset("graphs", graphs, classes, node_labels=labels, node_attributes=attributes, source="memory")


def _classes(graphs: Graphs) -> tuple[tuple[int, ...], Graphs]:
    """Whole numbers, one a graph, are classes; any other ``y`` is none that a dataset of graphs knows."""
    y = graphs.y
    if y is None or graphs.y_level == "node" or y.is_floating_point() or y.dim() != 1:
        return (), replace(graphs, y=None)
    values, codes = torch.unique(y, return_inverse=True)
    return tuple(values.tolist()), replace(graphs, y=codes)
