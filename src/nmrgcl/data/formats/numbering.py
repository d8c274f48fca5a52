"""Map the identifiers of graphs and nodes in an edge list to consecutive numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nmrgcl.data.formats.classes import INTEGER, shown
from nmrgcl.data.formats.csv_file import arrow, as_numpy
from nmrgcl.data.formats.edge_table import EdgeTable


@dataclass(frozen=True, eq=False)
class Numbered:
    """``sizes`` ``[B]`` of the graphs, ``ends`` ``[R, 2]`` of the edges, and ``order`` ``[N]``, the row of each node.

    ``listed`` is the number of the graph in each row of the file of graphs. ``graph_ids`` and ``node_ids`` are in
    numerical order; ``node_ids`` is None if there are several graphs.
    """

    sizes: np.ndarray
    ends: np.ndarray
    order: np.ndarray | None
    listed: np.ndarray
    graph_ids: list[str] | None = None
    node_ids: list[str] | None = None


def number(edges: EdgeTable, nodes: EdgeTable | None, graphs: EdgeTable | None) -> Numbered:
    """Number graphs by first appearance in graphs, nodes and edges, and nodes by their order in nodes, else edges."""
    tables = [table for table in (graphs, nodes, edges) if table is not None]
    count, graph_ids = 1, None
    of_graph = [np.zeros(table.rows, np.int64) for table in tables]
    if "graph" in edges.texts:
        of_graph, graph_ids = _codes(tables, ["graph"] * len(tables))
        count = max(len(graph_ids), 1)
    sides = ["node", "source", "target"] if nodes is not None else ["source", "target"]
    codes, names = _codes([edges if side != "node" else nodes or edges for side in sides], sides)
    distinct = max(len(names), 1)
    ends = of_graph[-1][:, None] * distinct + np.stack(codes[-2:], 1)
    listed = of_graph[0] if graphs is not None else np.empty(0, np.int64)
    if nodes is None:
        return _by_edges(ends, names, count, listed, graph_ids)
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
    node_ids = [names[code] for code in codes[0][order].tolist()] if count == 1 else None
    sizes = np.bincount(of_node, minlength=count)
    return Numbered(sizes, position[by_key[place]], order, listed, graph_ids, node_ids)


def _codes(tables: Sequence[EdgeTable], names: Sequence[str]) -> tuple[list[np.ndarray], list[str]]:
    """Number identifiers by first appearance; also return the first spelling of each.

    If all identifiers are 64-bit integers, 7 and 07 are the same.
    """
    columns = [table.texts[name] for table, name in zip(tables, names, strict=True)]
    encoded = arrow().concat_arrays(columns).dictionary_encode()
    texts, codes = encoded.dictionary.to_pylist(), as_numpy(encoded.indices).astype(np.int64)
    if all(len(text) < 40 and INTEGER.fullmatch(text) for text in texts):
        first: dict[int, int] = {}
        merged = [first.setdefault(int(text), len(first)) for text in texts]
        if len(first) < len(texts) and all(-(2**63) <= value < 2**63 for value in first):
            codes = np.array(merged, np.int64)[codes]
            spelt: dict[int, str] = {}
            for code, text in zip(merged, texts, strict=True):
                spelt.setdefault(code, text)
            texts = list(spelt.values())
    return np.split(codes, np.cumsum([len(column) for column in columns])[:-1]), texts


def _by_edges(
    ends: np.ndarray, names: list[str], count: int, listed: np.ndarray, graph_ids: list[str] | None
) -> Numbered:
    key, first, place = np.unique(ends, return_index=True, return_inverse=True)
    graph, code = np.divmod(key, max(len(names), 1))
    position, order = np.empty(len(key), np.int64), np.lexsort((first, graph))
    position[order] = np.arange(len(key))
    node_ids = [names[c] for c in code[order].tolist()] if count == 1 else None
    sizes = np.bincount(graph, minlength=count)
    return Numbered(sizes, position[place].reshape(ends.shape), None, listed, graph_ids, node_ids)


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
