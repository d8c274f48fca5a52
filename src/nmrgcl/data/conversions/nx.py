"""Convert from and to NetworkX."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from nmrgcl.data.assemble import Listing
from nmrgcl.data.chosen import Chosen
from nmrgcl.data.conversions.attributes import MemoryGraphs
from nmrgcl.data.conversions.parts import check_values, needed, parts, pointers
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import with_features
from nmrgcl.data.ids import as_ids, distinct_ids
from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs

if TYPE_CHECKING:
    import networkx


def from_networkx(
    graphs: "networkx.Graph | Iterable[networkx.Graph]",
    *,
    node_feature: str | None = None,
    edge_feature: str | None = None,
    edge_weight: str | None = None,
    label: str | None = None,
) -> Graphs:
    """Convert graphs exactly as they are: self-loops, directions and parallel edges are kept.

    An undirected edge becomes two directed ones. Nodes keep NetworkX's order. To learn from graphs, use ``as_dataset``
    instead, which applies the rules in ``docs/your-data.md``.

    Args:
        graphs: one graph or several, of any NetworkX class.
        node_feature: node attribute with a number or a sequence of numbers; None: the constant 1.
        edge_feature: edge attribute of the same form.
        edge_weight: edge attribute with a positive number.
        label: graph attribute with a number; it may be missing from some graphs.

    Example:
        >>> import networkx as nx
        >>> from nmrgcl import from_networkx
        >>> from_networkx([nx.path_graph(3), nx.cycle_graph(4)])
        Graphs(2 graphs, 7 nodes, 12 directed edges, 1 categorical features, cpu)
    """
    listed: list[Any] = [graphs] if hasattr(graphs, "nodes") else list(graphs)
    pairs: list[tuple[int, int]] = []
    edges: list[dict[str, Any]] = []
    start = 0
    for graph in listed:
        place = {node: start + i for i, node in enumerate(graph)}
        for u, v, attributes in graph.edges(data=True):
            both = not graph.is_directed() and u != v
            pairs += [(place[u], place[v]), (place[v], place[u])][: 1 + both]
            edges += [attributes] * (1 + both)
        start += len(graph)
    nodes = [attributes for graph in listed for _, attributes in graph.nodes(data=True)]
    x = _numbers(nodes, node_feature, "node")
    weight = _numbers(edges, edge_weight, "edge")
    y = _numbers([graph.graph for graph in listed], label, "graph")
    check_values(x, weight)
    return Graphs.build(
        torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T,
        pointers(torch.tensor([len(graph) for graph in listed], dtype=torch.long)),
        x=x,
        y=None if y is None else (y.long() if torch.equal(y, y.round()) else y.float()).squeeze(1),
        edge_attr=_numbers(edges, edge_feature, "edge"),
        edge_weight=None if weight is None else weight.squeeze(1),
    )


def networkx_listing(graphs: "list[networkx.Graph]", chosen: Chosen) -> Listing:
    """List the graphs; node ids are kept if there is one graph, and graph names if they are distinct."""
    found = MemoryGraphs(chosen)
    for graph in graphs:
        found.add_graph(graph.graph)
        for node, attributes in graph.nodes(data=True):
            found.add_node(node, attributes)
        both = not graph.is_directed()
        for u, v, attributes in graph.edges(data=True):
            found.add_edge(u, v, both, attributes)
    names = distinct_ids([graph.graph.get("name") for graph in graphs])
    return replace(found.listing(), graph_ids=names, node_ids=as_ids(graphs[0]) if len(graphs) == 1 else None)


def to_networkx(graphs: Graphs | Dataset) -> "list[networkx.Graph]":
    """Return graphs with the attributes ``x``, ``y``, ``edge_attr`` and ``weight``; undirected if possible.

    A dataset is converted with its default features. Parts that a view has removed are left out. Repeated edges make
    the graphs multigraphs.

    Example:
        >>> from nmrgcl import load, to_networkx
        >>> first, *others = to_networkx(load("MUTAG"))
        >>> first.number_of_nodes(), first.number_of_edges(), len(others)
        (17, 19, 187)
    """
    networkx = needed("networkx", "NetworkX", "networkx")
    graphs = with_features(graphs).compact()
    values = {"edge_attr": graphs.edge_attr, "weight": graphs.edge_weight}
    carried = {name: tensor for name, tensor in values.items() if tensor is not None}
    repeated = (graphs.edge_index[:, 1:] == graphs.edge_index[:, :-1]).all(0).any()
    directed = not graphs.symmetric or not all(torch.equal(t, t[graphs.pair]) for t in carried.values())
    kinds = (networkx.Graph, networkx.DiGraph, networkx.MultiGraph, networkx.MultiDiGraph)
    # The first of the two directions of an undirected edge stands for both.
    listed = torch.ones_like(graphs.pair, dtype=torch.bool)
    if not directed:
        listed = graphs.pair == torch.arange(graphs.num_edges, device=graphs.device)
    x = graphs.dense_x()
    result = []
    for g, part in enumerate(parts(graphs)):
        graph = kinds[directed + 2 * bool(repeated)]()
        graph.add_nodes_from((i, {"x": row}) for i, row in enumerate(x[part.nodes].tolist()))
        if graphs.y is not None and graphs.y_level == "graph":
            graph.graph["y"] = graphs.y[g].tolist()
        elif graphs.y is not None:
            networkx.set_node_attributes(graph, dict(enumerate(graphs.y[part.nodes].tolist())), "y")
        chosen = listed[part.edges]
        lists = {name: tensor[part.edges][chosen].tolist() for name, tensor in carried.items()}
        for i, (u, v) in enumerate(part.edge_index[:, chosen].T.tolist()):
            graph.add_edge(u, v, **{name: list_[i] for name, list_ in lists.items()})
        result.append(graph)
    return result


def _numbers(holders: list[dict[str, Any]], name: str | None, what: str) -> Tensor | None:
    """Return ``[len(holders), D]`` the attribute ``name`` of each holder."""
    if name is None:
        return None
    optional = what == "graph" and any(name in holder for holder in holders)
    for i, holder in enumerate(holders):
        if name not in holder and not optional:
            raise DataError(f"{what} {i}, counted over all graphs, has no attribute {name!r}")
    # Graph labels stay exact up to 2**53; everything else is computed in single precision.
    dtype = np.float64 if what == "graph" else np.float32
    try:
        with np.errstate(over="ignore"):
            table = np.array([np.atleast_1d(holder.get(name, np.nan)) for holder in holders], dtype)
    except (TypeError, ValueError):
        raise DataError(f"the {what} attribute {name!r} must be a number, or equally many numbers everywhere") from None
    if not (np.isfinite(table) | (np.isnan(table) & optional)).all():
        raise DataError(f"the {what} attribute {name!r} contains a number that is not finite")
    return torch.from_numpy(table.reshape(len(holders), -1) if holders else table.reshape(0, 1))
