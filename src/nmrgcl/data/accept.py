"""Turn whatever holds a user's graphs into a dataset, by the same rules as for files."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from nmrgcl.data.assemble import Listing, assemble, say_notes
from nmrgcl.data.chosen import Chosen
from nmrgcl.data.conversions.adjacency import is_matrix, matrix_listing
from nmrgcl.data.conversions.geometric_listing import pyg_listing
from nmrgcl.data.conversions.igraph import igraph_listing
from nmrgcl.data.conversions.nx import networkx_listing
from nmrgcl.data.dataset import Dataset, dataset_of
from nmrgcl.data.loading import load
from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs

_ACCEPTED = "pass a dataset name, a path, NetworkX, PyG or igraph graphs, or adjacency matrices"


def as_dataset(
    graphs: Any,
    *,
    node_feature: Any = None,
    edge_feature: Any = None,
    edge_weight: str | None = "weight",
    categorical: bool = False,
    directed: bool = False,
) -> Dataset:
    """Return a dataset made of a name or path, ``Graphs``, or NetworkX, PyG, igraph, SciPy or NumPy graphs.

    Several graphs may come as a list, an array, a Series, a PyG dataset or a generator. ``(matrix, features)`` is an
    adjacency matrix with one row of features per node. ``docs/your-data.md`` describes how directions, self-loops,
    repeated edges, weights and text are treated; one ``DataWarning`` counts what was changed or left out.

    Args:
        graphs: one graph or several.
        node_feature: the node attribute, or list of attributes, to use as features; None: all numbers and text.
        edge_feature: the same for edges.
        edge_weight: the edge attribute that holds the weight; None: edges are unweighted.
        categorical: treat integer features as categories, one-hot encoded.
        directed: keep the direction of edges instead of making every edge undirected.

    Example:
        >>> import numpy as np
        >>> from nmrgcl import as_dataset
        >>> triangle = np.ones((3, 3)) - np.eye(3)
        >>> as_dataset([triangle, triangle]).graphs
        Graphs(2 graphs, 6 nodes, 12 directed edges, 1 categorical features, cpu)
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
    """Return the graphs as a list."""
    # A PyG dataset must be recognised first: it has an edge_index, too, and would be taken for a single graph.
    geometric = sys.modules.get("torch_geometric.data")  # loaded already if any object comes from it
    if geometric is None or not isinstance(graphs, geometric.Dataset):
        if isinstance(graphs, tuple) and is_matrix(graphs):  # A tuple may also be several graphs.
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
        return networkx_listing(items, chosen)
    if all(map(_is_igraph, items)):
        return igraph_listing(items, chosen)
    if all(map(_is_pyg, items)):
        return pyg_listing(items, chosen)
    if all(map(is_matrix, items)):
        return matrix_listing(items, chosen)
    kinds = sorted({type(item).__name__ for item in items})
    smiles = "; SMILES are for MoleculeEmbedder" if kinds == ["str"] else ""
    several = f"a mixture of {', '.join(kinds)}" if len(kinds) > 1 else kinds[0]
    raise DataError(f"cannot read graphs from {several}; {_ACCEPTED}{smiles}")


def _is_networkx(item: Any) -> bool:
    # By attributes, so that none of these libraries need be imported.
    return hasattr(item, "adj") and hasattr(item, "nodes")


def _is_igraph(item: Any) -> bool:
    return hasattr(item, "vs") and hasattr(item, "es")


def _is_pyg(item: Any) -> bool:
    return hasattr(item, "edge_index")
