"""Whatever users hold their graphs in, as a dataset."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from nmrgcl.data.conversions import from_networkx, from_pyg
from nmrgcl.data.conversions.names import networkx_ids, pyg_ids
from nmrgcl.data.dataset import Dataset, dataset_of
from nmrgcl.data.loading import load
from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs


def as_dataset(graphs: Any, *, node_feature: str | None = None, edge_feature: str | None = None) -> Dataset:
    """A name or path, a ``Dataset``, ``Graphs``, PyG data, or NetworkX graphs as a dataset.

    ``node_feature`` and ``edge_feature`` name the attributes of NetworkX graphs that are used.
    """
    if isinstance(graphs, Dataset):
        return graphs
    if isinstance(graphs, str | Path):
        return load(str(graphs))
    if isinstance(graphs, Graphs):
        return dataset_of(graphs)
    items = [graphs] if hasattr(graphs, "edge_index") or hasattr(graphs, "adj") else _listed(graphs)
    if all(hasattr(item, "adj") and hasattr(item, "nodes") for item in items):
        converted = from_networkx(items, node_feature=node_feature, edge_feature=edge_feature)
        return replace(dataset_of(converted), **networkx_ids(items))
    if all(hasattr(item, "edge_index") for item in items):
        return replace(dataset_of(from_pyg(items)), **pyg_ids(items))
    kinds = sorted({type(item).__name__ for item in items})
    raise DataError(f"cannot read graphs from {', '.join(kinds)}; pass a name, a path, PyG data or NetworkX graphs")


def _listed(graphs: Any) -> list[Any]:
    if not isinstance(graphs, Iterable):
        raise DataError(f"cannot read graphs from {type(graphs).__name__}; pass a list of graphs")
    items = list(graphs)
    if not items:
        raise DataError("there are no graphs in the list")
    return items
