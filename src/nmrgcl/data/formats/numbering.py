"""Identifiers of graphs and nodes → the numbers that a listing counts by."""

from dataclasses import dataclass

import numpy as np

from nmrgcl.data.formats.classes import shown
from nmrgcl.data.formats.csv_column import Ids
from nmrgcl.data.formats.csv_table import Table
from nmrgcl.errors import DataError


@dataclass(frozen=True, eq=False)
class Numbered:
    """``sizes`` ``[B]`` of the graphs, ``ends`` ``[R, 2]`` of each edge, ``order`` ``[N]``: the row of each node."""

    sizes: np.ndarray
    ends: np.ndarray
    order: np.ndarray | None


def number(edges: Table, nodes: Table | None, graph_ids: Ids, node_ids: Ids) -> Numbered:
    """Graphs in the order of their codes; nodes in the order of ``nodes``, or as the edges name them."""
    graph, node = graph_ids.merged(), node_ids.merged()
    count = (int(graph.max(initial=-1)) + 1) if "graph" in edges.columns else 1
    distinct = max(len(node), 1)
    of_edge = _graphs(edges, graph)[:, None] * distinct
    ends = of_edge + node[np.stack([edges.columns[name].array() for name in ("source", "target")], 1)]
    if nodes is None:
        return _by_edges(ends, distinct, count)
    of_node = _graphs(nodes, graph)
    key = of_node * distinct + node[nodes.columns["node"].array()]
    by_key = np.argsort(key, kind="stable")
    _check_unique(key, by_key, nodes, node_ids)
    order = np.argsort(of_node, kind="stable")
    position = np.empty(len(key), np.int64)
    position[order] = np.arange(len(key))
    place = np.minimum(np.searchsorted(key[by_key], ends), max(len(key) - 1, 0))
    listed = key[by_key][place] == ends if len(key) else np.zeros(ends.shape, bool)
    _check_listed(listed, edges, nodes, node_ids)
    return Numbered(np.bincount(of_node, minlength=count), position[by_key[place]], order)


def _by_edges(ends: np.ndarray, distinct: int, count: int) -> Numbered:
    key, first, place = np.unique(ends, return_index=True, return_inverse=True)
    graph = key // distinct
    position = np.empty(len(key), np.int64)
    position[np.lexsort((first, graph))] = np.arange(len(key))
    return Numbered(np.bincount(graph, minlength=count), position[place].reshape(ends.shape), None)


def _graphs(table: Table, final: np.ndarray) -> np.ndarray:
    codes = table.array("graph")
    return np.zeros(table.rows, np.int64) if codes is None else final[codes]


def _check_unique(key: np.ndarray, by_key: np.ndarray, nodes: Table, ids: Ids) -> None:
    again = by_key[1:][key[by_key][1:] == key[by_key][:-1]]
    if len(again):
        row = int(again.min())
        text = list(ids)[nodes.columns["node"].array()[row]]
        raise DataError(f"{nodes.file}, line {row + 2}: node {shown(text)} is listed twice in its graph; keep one row")


def _check_listed(listed: np.ndarray, edges: Table, nodes: Table, ids: Ids) -> None:
    if listed.all():
        return
    row, side = (int(i[0]) for i in np.nonzero(~listed))
    text = list(ids)[edges.columns[("source", "target")[side]].array()[row]]
    within = " in that graph" if "graph" in edges.columns else ""
    raise DataError(
        f"{edges.file}, line {row + 2}: node {shown(text)} is not listed in {nodes.file}{within}; "
        "add it there or correct the edge"
    )
