"""Edge lists in CSV, against a reading that splits lines by hand and knows nothing but dictionaries."""

import csv
import io
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.formats.edge_list import read_edge_list_streams
from nmrgcl.errors import DataError
from tests.fuzz.target import Files, Target

Rows = list[dict[str, str]]
ALIASES = {"src": "source", "dst": "target", "from": "source", "to": "target", "graph_id": "graph", "node_id": "node"}


def read(files: Files) -> Dataset:
    if "edges.csv" not in files:
        raise DataError("no edges")
    sources = [
        (io.BytesIO(files[name]), name) if name in files else None for name in ("edges.csv", "nodes.csv", "graphs.csv")
    ]
    assert sources[0] is not None
    return read_edge_list_streams(sources[0], sources[1], sources[2])


def agree(files: Files, data: Dataset) -> None:
    edges, nodes, graphs = (_rows(files.get(name)) for name in ("edges.csv", "nodes.csv", "graphs.csv"))
    whole = [row["graph"] for table in (graphs, nodes, edges) for row in table or () if "graph" in row]
    graph_id = _identify(whole)
    node_id = _identify([row["node"] for row in nodes or ()] + [row[s] for row in edges or () for s in ENDS])
    members: dict[Any, list[Any]] = {graph_id(text): [] for text in whole} or {None: []}
    keys: list[tuple[Any, Any]] = []
    rows_of: dict[tuple[Any, Any], dict[str, str]] = {}
    for row, text in _named(edges or [], nodes):
        graph = graph_id(row["graph"]) if "graph" in row else None
        if node_id(text) not in members[graph]:
            members[graph].append(node_id(text))
            rows_of[graph, node_id(text)] = row
    keys = [(graph, node) for graph, inside in members.items() for node in inside]
    number = {key: i for i, key in enumerate(keys)}
    assert data.graphs.node_ptr.diff().tolist() == [len(inside) for inside in members.values()]
    listed = [
        (tuple(number[graph_id(row["graph"]) if "graph" in row else None, node_id(row[s])] for s in ENDS), row)
        for row in edges or ()
    ]
    _check_edges(data, listed)
    about = [rows_of[key] for key in keys] if nodes is not None else []
    known = {"graph", "node", "y"}
    _check_numbers(data.node_labels, data.node_attributes, about, known | _words(nodes or []))
    _check_categories(data.categories, about, _words(nodes or []) - known)
    _check_labels(data, nodes, graphs, members, graph_id, about)


ENDS = ("source", "target")


def _named(edges: Rows, nodes: Rows | None) -> Iterable[tuple[dict[str, str], str]]:
    return [(row, row["node"]) for row in nodes] if nodes is not None else [(r, r[s]) for r in edges for s in ENDS]


def _rows(text: bytes | None) -> Rows | None:
    if text is None:
        return None
    lines = text.decode("utf-8-sig").rstrip(" \t\r\n").split("\n")
    table = [[cell.strip(" \t") for cell in _cells(line.removesuffix("\r"))] for line in lines]
    names = [ALIASES.get(name.lower(), name.lower()) for name in table[0]]
    return [dict(zip(names, row, strict=True)) for row in table[1:]]


def _cells(line: str) -> list[str]:
    return line.split(",") if '"' not in line else next(csv.reader([line], skipinitialspace=True))


def _identify(texts: list[str]) -> Any:
    if all(re.fullmatch("[+-]?[0-9]+", text) and -(2**63) <= int(text) < 2**63 for text in texts):
        return int
    return str


def _check_edges(data: Dataset, listed: list[tuple[Any, dict[str, str]]]) -> None:
    first: dict[tuple[int, int], dict[str, str]] = {}
    total: dict[tuple[int, int], float] = {}
    for (u, v), row in listed:
        if u != v:
            first.setdefault((u, v), row)
            total[u, v] = total.get((u, v), 0.0) + float(np.float32(row.get("weight", 1)))
    for (u, v), row in list(first.items()):
        first.setdefault((v, u), row)
    edges = [(u, v) for u, v in data.graphs.edge_index.T.tolist()]
    assert edges == sorted(first, key=lambda e: (e[1], e[0]))
    known = {"graph", "source", "target", "weight"} | _words([row for _, row in listed])
    _check_numbers(data.edge_labels, data.edge_attributes, [first[e] for e in edges], known)
    weights = data.graphs.edge_weight
    if weights is None:
        assert all(np.float32(row.get("weight", 1)) == 1 for _, row in listed)
        return
    for (u, v), weight in zip(edges, weights.tolist(), strict=True):
        found = [total[e] for e in ((u, v), (v, u)) if e in total]
        assert weight == np.float32(sum(found) / len(found))


def _check_numbers(labels: Any, attributes: Any, rows: Rows, known: set[str]) -> None:
    if not rows:
        assert labels is None or len(labels) == 0
        assert attributes is None or len(attributes) == 0
        return
    others = [name for name in rows[0] if name not in known | {"label"}]
    assert (labels is None, attributes is None) == ("label" not in rows[0].keys() - known, not others)
    if labels is not None:
        assert labels.tolist() == [[_integer(row["label"])] for row in rows]
    if attributes is not None:
        expected = np.array([[float(row[name]) for name in others] for row in rows]).astype(np.float32)
        assert np.array_equal(attributes, expected)


def _words(rows: Rows) -> set[str]:
    """The columns that hold text and not a single number."""
    columns = {name: [row[name] for row in rows if row[name].strip()] for name in rows[0]} if rows else {}
    return {name for name, cells in columns.items() if cells and not any(map(_is_number, cells))}


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _check_categories(found: Any, rows: Rows, names: set[str]) -> None:
    if found is None:
        assert not names
        return
    assert set(found.names) == names
    for name, values, codes in zip(found.names, found.values, found.codes.T, strict=True):
        assert [None if code < 0 else values[code] for code in codes] == [row[name] or None for row in rows]


def _check_labels(data: Dataset, nodes: Any, graphs: Any, members: Any, graph_id: Any, about: Rows) -> None:
    if any("y" in row for row in nodes or ()):
        assert data.level == "node"
        expected = [_label(row["y"]) for row in about]
    elif any("y" in row for row in graphs or ()):
        given = {graph_id(row["graph"]): _label(row["y"]) for row in graphs}
        assert len(given) == len(graphs)
        expected = [given.get(graph) for graph in members]
    else:
        assert data.classes == ()
        return
    assert data.y is not None
    assert [None if code < 0 else data.classes[code] for code in data.y] == expected


def _integer(cell: str) -> int:
    value = float(cell)
    return int(value) if "." in cell or "e" in cell.lower() else int(cell)


def _label(cell: str) -> int | str | None:
    try:
        return _integer(cell) if cell else None
    except ValueError:
        return cell


SEVERAL = {
    "edges.csv": b"graph,source,target,weight,label,length\na,1,2,0.5,3,1.5\na,2,1,1,4,2\nb,1,1,1,0,-1\na,3,02,1,1,0\n",
    "nodes.csv": b'graph,node,label,"size"\r\nb,1,1,0.5\r\na,1,2.0,1\r\na,2,3,1e1\r\n"a",3,4,.5\r\n',
    "graphs.csv": b"graph,y\na,yes\nc,no\nb,\n",
}
ONE = {"edges.csv": b"src,dst\nx,y\ny,z\n", "nodes.csv": b"node,y\nz,1\nx,-2\ny,\nw,1\n"}
BARE = {"edges.csv": b'\xef\xbb\xbfFrom, To\n"a, b",c\nc,"d""e"\n'}
TOKENS = rb""", ; " "" """.split() + rb"graph y node label weight .0 1e5 nan - + a 1_0 \ufeff".split()
TARGET = Target(
    name="edge_list",
    examples=(SEVERAL, ONE, BARE),
    tokens=(*TOKENS, b"\n", b"\r\n", b"\r", b" ", b"\t", b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xc2\xa0", b"\xd9\xa1"),
    read=read,
    agree=agree,
)
