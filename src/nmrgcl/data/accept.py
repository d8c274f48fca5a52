"""Whatever users hold their graphs in, as a dataset: one path for all, with the rules of files."""

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from nmrgcl.data.assemble import Listing, assemble, say_notes
from nmrgcl.data.chosen import Chosen
from nmrgcl.data.conversions.adjacency import is_matrix, matrix_listing
from nmrgcl.data.conversions.geometric_listing import pyg_listing
from nmrgcl.data.conversions.igraph import igraph_listing
from nmrgcl.data.conversions.names import networkx_ids, pyg_ids
from nmrgcl.data.conversions.nx import networkx_listing
from nmrgcl.data.dataset import Dataset, dataset_of
from nmrgcl.data.loading import load
from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs

_ACCEPTED = "pass a name, a path, or graphs of NetworkX, PyG or igraph, or adjacency matrices"


def as_dataset(
    graphs: Any,
    *,
    node_feature: Any = None,
    edge_feature: Any = None,
    edge_weight: str | None = "weight",
    categorical: bool = False,
    directed: bool = False,
) -> Dataset:
    """A name or path, a ``Dataset``, ``Graphs``, or graphs of NetworkX, PyG, igraph, SciPy or NumPy as a dataset.

    Several graphs come as a list, an array, a Series, a PyG dataset or a generator. ``(matrix, features)`` is an
    adjacency matrix with one row of features per node. ``docs/your-data.md`` says what becomes of directions, loops,
    repeated edges, weights and text; what is changed or left out is counted in one ``DataWarning``.

    Args:
        graphs: one graph or several.
        node_feature: the node attribute, or a list of them, to use as features; None: all that are numbers or text.
        edge_feature: likewise of edges.
        edge_weight: the edge attribute that is the weight; None: edges have no weight.
        categorical: whole numbers in features name kinds of nodes: each value is a column of its own.
        directed: edges lead where they are said to, instead of both ways.
    """
    names = {"node_feature": node_feature, "edge_feature": edge_feature, "edge_weight": edge_weight}
    chosen = Chosen.of(**names, categorical=categorical)
    if isinstance(graphs, Dataset):
        return graphs
    if isinstance(graphs, str | Path):
        return load(str(graphs), chosen=chosen, directed=directed)
    if isinstance(graphs, Graphs):
        return dataset_of(graphs)
    return say_notes(assemble(_listing(_items(graphs), chosen), "graphs", "memory", keep_directions=directed))


def _items(graphs: Any) -> list[Any]:
    """The graphs one by one; a generator is used up once."""
    geometric = sys.modules.get("torch_geometric.data")  # it is there if any of its objects are
    if geometric is None or not isinstance(graphs, geometric.Dataset):
        if isinstance(graphs, tuple) and is_matrix(graphs):
            return [graphs]
        if _is_networkx(graphs) or _is_igraph(graphs) or _is_pyg(graphs) or issparse(graphs):
            return [graphs]
        if isinstance(graphs, np.ndarray) and graphs.dtype.kind in "biuf" and graphs.ndim == 2:
            return [graphs]
        if not isinstance(graphs, Iterable) or isinstance(graphs, dict):
            raise DataError(f"cannot read graphs from {type(graphs).__name__}; {_ACCEPTED}")
    items = list(graphs)
    if not items:
        raise DataError("there are no graphs in the list")
    return items


def _listing(items: list[Any], chosen: Chosen) -> Listing:
    if all(map(_is_networkx, items)):
        return replace(networkx_listing(items, chosen), **networkx_ids(items))
    if all(map(_is_igraph, items)):
        return igraph_listing(items, chosen)
    if all(map(_is_pyg, items)):
        return replace(pyg_listing(items, chosen), **pyg_ids(items))
    if all(map(is_matrix, items)):
        return matrix_listing(items, chosen)
    kinds = sorted({type(item).__name__ for item in items})
    smiles = "; SMILES are for MoleculeEmbedder" if kinds == ["str"] else ""
    several = f"a mixture of {', '.join(kinds)}" if len(kinds) > 1 else kinds[0]
    raise DataError(f"cannot read graphs from {several}; {_ACCEPTED}{smiles}")


def _is_networkx(item: Any) -> bool:
    return hasattr(item, "adj") and hasattr(item, "nodes")


def _is_igraph(item: Any) -> bool:
    return hasattr(item, "vs") and hasattr(item, "es")


def _is_pyg(item: Any) -> bool:
    return hasattr(item, "edge_index")
