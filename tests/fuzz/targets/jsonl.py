"""JSON lines, against a reading with dictionaries, one line and one edge at a time."""

import io
import json
from typing import Any

import numpy as np

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.formats.jsonl import read_jsonl_stream
from nmrgcl.data.ids import LONGEST
from nmrgcl.errors import printable
from tests.fuzz.target import Files, Target

Edge = tuple[int, int]


def read(files: Files) -> Dataset:
    return read_jsonl_stream(io.BytesIO(files["g.jsonl"]), "g.jsonl")


def agree(files: Files, data: Dataset) -> None:
    lines = files["g.jsonl"].decode("utf-8-sig").rstrip(" \t\r\n").split("\n")
    graphs = [{k: v for k, v in json.loads(line).items() if v is not None or k == "y"} for line in lines]
    sizes = [_size(graph) for graph in graphs]
    assert data.graphs.node_ptr.diff().tolist() == sizes
    listed: list[tuple[Edge, dict[str, Any]]] = []
    for start, graph in zip(np.cumsum([0, *sizes]).tolist(), graphs, strict=False):
        for i, (u, v) in enumerate(graph["edges"]):
            listed.append(((start + u, start + v), {k: graph[k][i] for k in EDGE_KEYS if k in graph}))
    first = _first_rows(listed)
    edges = [(u, v) for u, v in data.graphs.edge_index.T.tolist()]
    assert edges == sorted(first, key=lambda e: (e[1], e[0]))
    _check(data.edge_labels, [first[e].get("edge_labels") for e in edges], listed, "edge_labels")
    _check(data.edge_attributes, [first[e].get("edge_attr") for e in edges], listed, "edge_attr")
    _check_weights(data, edges, listed)
    for key, values in (("node_labels", data.node_labels), ("x", data.node_attributes)):
        assert not hasattr(values, "tocsr")
        expected = [row for graph in graphs for row in graph.get(key, [])]
        assert (values is None) == (not expected)
        if values is not None:
            assert np.array_equal(values, _array(expected, values))
    _check_labels(data, graphs)
    _check_ids(data, graphs)


EDGE_KEYS = ("edge_labels", "edge_attr", "edge_weight")


def _size(graph: dict[str, Any]) -> int:
    for key in ("num_nodes", "x", "node_labels", "node_ids"):
        if key in graph:
            return graph[key] if key == "num_nodes" else len(graph[key])
    return max((end + 1 for edge in graph["edges"] for end in edge), default=0)


def _first_rows(listed: list[tuple[Edge, dict[str, Any]]]) -> dict[Edge, dict[str, Any]]:
    first: dict[Edge, dict[str, Any]] = {}
    for (u, v), row in listed:
        if u != v:
            first.setdefault((u, v), row)
    for (u, v), row in list(first.items()):
        first.setdefault((v, u), row)
    return first


def _check(values: np.ndarray | None, expected: list[Any], listed: list[tuple[Edge, dict[str, Any]]], key: str) -> None:
    assert (values is None) == (not any(key in row for _, row in listed))
    if values is not None:
        assert np.array_equal(values, _array(expected, values))


def _array(expected: list[Any], like: np.ndarray) -> np.ndarray:
    if like.dtype == np.float32:
        return np.array(expected, np.float64).reshape(like.shape).astype(np.float32)
    return np.array(expected, object).reshape(like.shape).astype(np.int64)


def _check_weights(data: Dataset, edges: list[Edge], listed: list[tuple[Edge, dict[str, Any]]]) -> None:
    total: dict[Edge, float] = {}
    for (u, v), row in listed:
        total[u, v] = total.get((u, v), 0.0) + float(np.float32(row.get("edge_weight", 1)))
    given = data.graphs.edge_weight
    if given is None:
        assert all(np.float32(row.get("edge_weight", 1)) == 1 for _, row in listed)
        return
    for (u, v), weight in zip(edges, given.tolist(), strict=True):
        found = [total[e] for e in ((u, v), (v, u)) if e in total]
        assert weight == np.float32(sum(found) / len(found))


def _check_labels(data: Dataset, graphs: list[dict[str, Any]]) -> None:
    if not any("y" in graph for graph in graphs):
        assert data.y is None
        return
    labels: Any = [graph.get("y") for graph in graphs]
    if data.level == "node":
        labels = labels[0]
    assert data.y is not None
    assert [None if code < 0 else data.classes[code] for code in data.y] == labels


def _check_ids(data: Dataset, graphs: list[dict[str, Any]]) -> None:
    given = {"graph": [graph["id"] for graph in graphs if "id" in graph], "node": graphs[0].get("node_ids")}
    assert len(given["graph"] or ()) in (0, len(graphs))
    for level, names in given.items():
        found = data.ids(level)  # type: ignore[arg-type]
        for one, name in zip(found or (), names or (), strict=True):  # a long one is cut
            assert one[: LONGEST - 1] == printable(str(name))[: LONGEST - 1]


FULL = b"""{"edges": [[0, 1], [1, 2], [2, 1]], "num_nodes": 4, "x": [[1, 0.5], [2, -1], [3, 1e2], [4, 5]],
 "node_labels": [3, 1, 2, 7], "edge_attr": [[1.5], [2.5], [3.5]], "edge_labels": [5, 6, 7],
 "edge_weight": [1, 2, 0.5], "y": "a", "id": "first"}
""".replace(b"\n ", b" ")
EMPTY = b'{"edges": [], "num_nodes": 0, "y": "b", "id": 2}\n'
PLAIN = b'{"edges": [[0, 1], [1, 0], [1, 1], [0, 1]], "y": 1}\r\n{"edges": [], "y": null}\n{"edges": [[0, 2]]}\n'
NODES = b'{"edges": [[0, 1]], "y": [1, null, 2.0], "node_labels": [[1, 2], [3, 4], [5, 6]], "node_ids": ["p", 7, "q"]}'
TOKENS = rb"""[ ] { } [] [[ , : " null true NaN -Infinity e5 [0,1], "x":[ "y":2, "num_nodes":3, "edge_weight":[1],
 "edges" \u0041 \ud800 .0 - -1""".split()
TARGET = Target(
    name="jsonl",
    examples=tuple({"g.jsonl": text} for text in (FULL + EMPTY, PLAIN, NODES)),
    tokens=(*TOKENS, b"\n", b"\xef\xbb\xbf", b"\xff", b"\x00", b"\xc3\xa4", b"1" * 400, b"[" * 3000),
    read=read,
    agree=agree,
)
