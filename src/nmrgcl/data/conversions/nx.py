"""NetworkX."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from nmrgcl.data.assemble import Listing
from nmrgcl.data.chosen import Chosen
from nmrgcl.data.conversions.attributes import MemoryGraphs
from nmrgcl.data.conversions.needed import needed
from nmrgcl.data.conversions.parts import check_values, parts, pointers
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import with_features
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
    """Graphs exactly as they are: an undirected edge becomes two, while loops, directions and parallel edges stay.

    ``as_dataset`` is for graphs to learn from: it treats them as ``docs/your-data.md`` says. Nodes are in the order in
    which NetworkX lists them.

    Args:
        graphs: one graph or several, of any of NetworkX's kinds.
        node_feature: node attribute with a number or a sequence of numbers; without it, the constant 1.
        edge_feature: edge attribute of the same form.
        edge_weight: edge attribute with a positive number.
        label: graph attribute with a number; a graph without it has no label.
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
    """The graphs as GraphML would list them."""
    found = MemoryGraphs(chosen)
    for graph in graphs:
        found.add_graph(graph.graph)
        for node, attributes in graph.nodes(data=True):
            found.add_node(node, attributes)
        both = not graph.is_directed()
        for u, v, attributes in graph.edges(data=True):
            found.add_edge(u, v, both, attributes)
    return found.listing()


def to_networkx(graphs: Graphs | Dataset) -> "list[networkx.Graph]":
    """Graphs with attributes ``x``, ``y``, ``edge_attr`` and ``weight``, directed only where they must be.

    A dataset has the features that a model would see. What a view has removed is not in them. An edge that occurs
    twice makes them multigraphs.
    """
    networkx = needed("networkx", "NetworkX", "networkx")
    graphs = with_features(graphs).compact()
    values = {"edge_attr": graphs.edge_attr, "weight": graphs.edge_weight}
    carried = {name: tensor for name, tensor in values.items() if tensor is not None}
    repeated = (graphs.edge_index[:, 1:] == graphs.edge_index[:, :-1]).all(0).any()
    directed = not graphs.symmetric or not all(torch.equal(t, t[graphs.pair]) for t in carried.values())
    kinds = (networkx.Graph, networkx.DiGraph, networkx.MultiGraph, networkx.MultiDiGraph)
    # Of the two directions of an undirected edge the first stands for both.
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
    """``[len(holders), D]`` the attribute ``name`` of each."""
    if name is None:
        return None
    optional = what == "graph" and any(name in holder for holder in holders)
    for i, holder in enumerate(holders):
        if name not in holder and not optional:
            raise DataError(f"{what} {i} of all graphs together has no attribute {name!r}")
    # Whole numbers up to 2**53 survive as labels of graphs; the rest is computed with in single precision.
    dtype = np.float64 if what == "graph" else np.float32
    try:
        with np.errstate(over="ignore"):
            table = np.array([np.atleast_1d(holder.get(name, np.nan)) for holder in holders], dtype)
    except (TypeError, ValueError):
        raise DataError(f"the attribute {name!r} of a {what} is not a number, or they differ in width") from None
    if not (np.isfinite(table) | (np.isnan(table) & optional)).all():
        raise DataError(f"the attribute {name!r} of a {what} is not a finite number")
    return torch.from_numpy(table.reshape(len(holders), -1) if holders else table.reshape(0, 1))
