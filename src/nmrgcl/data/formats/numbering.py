"""Identifiers of graphs and nodes → the numbers that a listing counts by."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nmrgcl.data.formats.classes import INTEGER, shown
from nmrgcl.data.formats.csv_file import arrow, as_numpy
from nmrgcl.data.formats.edge_table import EdgeTable


@dataclass(frozen=True, eq=False)
class Numbered:
    """``sizes`` ``[B]`` of the graphs, ``ends`` ``[R, 2]`` of each edge, ``order`` ``[N]``: the row of each node.

    ``listed`` is the number of the graph of each row of the file about graphs.
    """

    sizes: np.ndarray
    ends: np.ndarray
    order: np.ndarray | None
    listed: np.ndarray


def number(edges: EdgeTable, nodes: EdgeTable | None, graphs: EdgeTable | None) -> Numbered:
    """Graphs as they are first met in graphs, nodes, edges; nodes in the order of ``nodes``, or as edges name them."""
    tables = [table for table in (graphs, nodes, edges) if table is not None]
    count = 1
    of_graph = [np.zeros(table.rows, np.int64) for table in tables]
    if "graph" in edges.texts:
        of_graph, count = _codes(tables, ["graph"] * len(tables))
    sides = ["node", "source", "target"] if nodes is not None else ["source", "target"]
    codes, distinct = _codes([edges if side != "node" else nodes or edges for side in sides], sides)
    ends = of_graph[-1][:, None] * distinct + np.stack(codes[-2:], 1)
    listed = of_graph[0] if graphs is not None else np.empty(0, np.int64)
    if nodes is None:
        return _by_edges(ends, distinct, count, listed)
    of_node = of_graph[-2]
    key = of_node * distinct + codes[0]
    by_key = np.argsort(key, kind="stable")
    _check_unique(key, by_key, nodes)
    order = np.argsort(of_node, kind="stable")
    position = np.empty(len(key), np.int64)
    position[order] = np.arange(len(key))
    place = np.minimum(np.searchsorted(key[by_key], ends), max(len(key) - 1, 0))
    known = key[by_key][place] == ends if len(key) else np.zeros(ends.shape, bool)
    _check_known(known, edges, nodes)
    return Numbered(np.bincount(of_node, minlength=count), position[by_key[place]], order, listed)


def _codes(tables: Sequence[EdgeTable], names: Sequence[str]) -> tuple[list[np.ndarray], int]:
    """Columns of identifiers as numbers, counted as they are first met; and how many there are.

    Where all identifiers are integers of 64 bits, 7 and 07 are one.
    """
    columns = [table.texts[name] for table, name in zip(tables, names, strict=True)]
    encoded = arrow().concat_arrays(columns).dictionary_encode()
    texts, codes = encoded.dictionary.to_pylist(), as_numpy(encoded.indices).astype(np.int64)
    count = len(texts)
    if all(len(text) < 40 and INTEGER.fullmatch(text) for text in texts):
        first: dict[int, int] = {}
        merged = [first.setdefault(int(text), len(first)) for text in texts]
        if all(-(2**63) <= value < 2**63 for value in first):
            codes, count = np.array(merged, np.int64)[codes], len(first)
    return np.split(codes, np.cumsum([len(column) for column in columns])[:-1]), max(count, 1)


def _by_edges(ends: np.ndarray, distinct: int, count: int, listed: np.ndarray) -> Numbered:
    key, first, place = np.unique(ends, return_index=True, return_inverse=True)
    graph = key // distinct
    position = np.empty(len(key), np.int64)
    position[np.lexsort((first, graph))] = np.arange(len(key))
    return Numbered(np.bincount(graph, minlength=count), position[place].reshape(ends.shape), None, listed)


def _check_unique(key: np.ndarray, by_key: np.ndarray, nodes: EdgeTable) -> None:
    again = by_key[1:][key[by_key][1:] == key[by_key][:-1]]
    for row in np.sort(again)[:1].tolist():
        raise nodes.refusal(
            row, f"node {shown(nodes.texts['node'][row].as_py())} is listed twice in its graph; keep one row"
        )


def _check_known(known: np.ndarray, edges: EdgeTable, nodes: EdgeTable) -> None:
    for row, side in np.argwhere(~known)[:1].tolist():
        text = edges.texts[("source", "target")[side]][row].as_py()
        within = " in that graph" if "graph" in edges.texts else ""
        why = f"node {shown(text)} is not listed in {nodes.file}{within}; add it there or correct the edge"
        raise edges.refusal(row, why)
