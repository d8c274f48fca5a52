"""The TU text format, against a reading with dictionaries and Python's own numbers."""

import io
import math

import numpy as np

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.formats.tu import read_tu_files
from tests.data.formats.tu_text import TINY
from tests.fuzz.target import Files, Target


def read(files: Files) -> Dataset:
    return read_tu_files(((name, io.BytesIO(data)) for name, data in files.items()), "mutated", "T")


def agree(files: Files, data: Dataset) -> None:
    tables = {name[2:-4]: _rows(text) for name, text in files.items()}
    ids = [int(row[0]) for row in tables["graph_indicator"]]
    assert data.graphs.batch.tolist() == [i - 1 for i in ids]
    first: dict[tuple[int, int], int] = {}
    for row, (u, v) in enumerate(tables["A"]):
        if u != v:
            first.setdefault((int(u), int(v)), row)
    for (u, v), row in list(first.items()):
        first.setdefault((v, u), row)
    edges = [(u + 1, v + 1) for u, v in data.graphs.edge_index.T.tolist()]
    assert edges == sorted(first, key=lambda e: (e[1], e[0]))
    if "graph_labels" in tables:
        assert data.y is not None
        assert [data.classes[code] for code in data.y] == [int(row[0]) for row in tables["graph_labels"]]
    else:
        assert data.y is None
    rows = {"node": range(len(ids)), "edge": [first[e] for e in edges]}
    for kind in ("node_labels", "node_attributes", "edge_labels", "edge_attributes"):
        values = getattr(data, kind)
        assert (values is None) == (kind not in tables)
        if values is not None:
            expected = np.array([tables[kind][i] for i in rows[kind[:4]]], values.dtype)
            assert np.array_equal(values, expected.reshape(values.shape))


def _rows(text: bytes) -> list[list[float]]:
    lines = text.decode("ascii" if not text.startswith(b"\xef\xbb\xbf") else "utf-8-sig").rstrip(" \t\r\n").split("\n")
    return [[_number(field.strip(" \t\r")) for field in line.split(",")] for line in lines]


def _number(field: str) -> float:
    value = int(field) if field.lstrip("+-").isdigit() else float(field)
    assert math.isfinite(value)
    return value


EXAMPLE = {f"T_{kind}.txt": text.encode() for kind, text in TINY.items()}
BARE = {name: EXAMPLE[name] for name in ("T_A.txt", "T_graph_indicator.txt")}
TARGET = Target(
    name="tu",
    examples=(EXAMPLE, BARE),
    tokens=(b"\n", b"\r\n", b",", b", ", b" ", b"\t", b"-", b"+", b"e", b".", b"\x00", b"\xff", b"\xef\xbb\xbf", b"#"),
    read=read,
    agree=agree,
)
