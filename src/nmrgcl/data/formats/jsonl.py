"""JSON lines: one graph a line, as people write it themselves.

    {"edges": [[0, 1], [1, 2]], "num_nodes": 3, "x": [[0.5], [1], [2]], "y": "active"}

Keys, all but ``edges`` optional: ``num_nodes``; ``x`` (numbers) and ``node_labels`` (integers), one entry a node;
``edge_attr`` (numbers), ``edge_labels`` (integers) and ``edge_weight`` (positive), one entry an edge; ``y``, the class.
An entry is a number or a list of as many numbers everywhere. What is null is missing. Except for ``y`` a key is there
in all graphs or in none; a graph without nodes or edges has nothing to list about them.

A graph has ``num_nodes`` nodes, else as many as ``x`` or ``node_labels`` lists, else one more than the largest number
in its edges: without them, isolated nodes at the end need ``num_nodes``. Nodes count from 0 in every graph.

``[0, 1]`` is the edge between 0 and 1, in both directions unless directions are kept; with both listed, the first row
of each direction gives its label and attributes. A pair that is repeated is one edge whose weights add up, and
self-loops are left out; both are counted. ``y`` is a whole number or text; in a file of one graph it may be a list with
the class of each node.
"""

from pathlib import Path
from typing import Any

import numpy as np

from nmrgcl.data.assemble import MAX_NODES, Listing, assemble
from nmrgcl.data.dataset import Dataset, Label, Level
from nmrgcl.data.files.archive import Readable
from nmrgcl.data.formats.classes import first_unlike, json_label, shown
from nmrgcl.data.formats.json_column import Column
from nmrgcl.data.formats.json_line import parse_line
from nmrgcl.data.formats.ragged import ENDS, INTEGERS, REALS, WEIGHTS
from nmrgcl.data.formats.text import line_blocks, open_text, stem
from nmrgcl.errors import DataError

MAX_BARE = 10_000_000
"""Nodes in a file that no edge, feature or label names: more is a wrong number, and each would need memory."""


def read_jsonl(path: Path, *, name: str | None = None, keep_directions: bool = False) -> Dataset:
    """The graphs in a ``.jsonl``, plain or gzipped, in the order of its lines."""
    with open_text(path) as stream:
        return read_jsonl_stream(stream, str(path), name=name or stem(path), keep_directions=keep_directions)


def read_jsonl_stream(stream: Readable, file: str, *, name: str = "graphs", keep_directions: bool = False) -> Dataset:
    """The same from a stream of bytes; ``file`` is what messages call it."""
    gathered = _Gathered(file)
    for first, lines in line_blocks(stream, file):
        gathered.add([parse_line(line, file, first + i) for i, line in enumerate(lines)], first)
    return assemble(gathered.listing(), name, file, keep_directions=keep_directions)


class _Gathered:
    """What the lines so far list; graph ``i``, from 0, stands on line ``i + 1``."""

    def __init__(self, file: str) -> None:
        self.file, self.nodes, self.bare, self.labelled = file, 0, 0, False
        self.sizes: list[np.ndarray] = []
        self.ends: list[np.ndarray] = []
        self.y: list[Any] = []
        self.edges = Column("edges", "edges", ENDS, file, width=2)
        self.columns = {
            "node_attributes": Column("x", "nodes", REALS, file),
            "node_labels": Column("node_labels", "nodes", INTEGERS, file),
            "edge_attributes": Column("edge_attr", "edges", REALS, file),
            "edge_labels": Column("edge_labels", "edges", INTEGERS, file),
            "edge_weight": Column("edge_weight", "edges", WEIGHTS, file, width=0),
        }

    def add(self, graphs: list[dict[str, Any]], first: int) -> None:
        """A block of graphs, the first of them on line ``first``."""
        edges = [graph["edges"] for graph in graphs]
        ends = self.edges.flatten(edges, first).reshape(-1, 2)
        rows = np.fromiter(map(len, edges), np.int64, len(edges))
        sizes = self._sizes(graphs, ends, rows, first)
        self._check_ends(ends, rows, sizes, first)
        for column in self.columns.values():
            column.add(graphs, sizes if column.of == "nodes" else rows, first)
        starts = self.nodes + np.cumsum(sizes) - sizes
        # Two million molecules have 50 million edges, so they are kept small.
        self.ends.append((ends + np.repeat(starts, rows)[:, None]).astype(np.int32))
        self.sizes.append(sizes)
        self.nodes += int(sizes.sum())
        self.labelled = self.labelled or any("y" in graph for graph in graphs)
        self.y += [
            self._label(graph.get("y"), size, first + i)
            for i, (graph, size) in enumerate(zip(graphs, sizes.tolist(), strict=True))
        ]

    def listing(self) -> Listing:
        """All of it, once the last line is there."""
        if not self.sizes:
            raise DataError(f"{self.file}, line 1: the file is empty; write one graph a line")
        level, y = self._labels()
        ends = np.concatenate(self.ends)
        values = {field: column.values() for field, column in self.columns.items()}
        return Listing(np.concatenate(self.sizes), ends[:, 0], ends[:, 1], y=y, level=level, **values)  # type: ignore[arg-type]

    def _sizes(self, graphs: list[dict[str, Any]], ends: np.ndarray, rows: np.ndarray, first: int) -> np.ndarray:
        """``[B]`` nodes: declared, else listed, else those the edges name."""
        count = len(graphs)
        declared = np.fromiter((self._declared(graph, first + i) for i, graph in enumerate(graphs)), np.int64, count)
        listed = np.fromiter(map(_listed, graphs), np.int64, count)
        largest = np.full(count, -1)
        some = rows > 0
        if len(ends):
            largest[some] = np.maximum.reduceat(ends.max(1), (np.cumsum(rows) - rows)[some])
        sizes = np.where(declared >= 0, declared, np.where(listed >= 0, listed, np.minimum(largest, MAX_NODES) + 1))
        bare = self.bare + np.cumsum(np.maximum(sizes - np.maximum(listed, 2 * rows), 0))
        if (wrong := np.flatnonzero(bare > MAX_BARE)).size:
            at = int(wrong[0])
            raise DataError(
                f"{self.file}, line {first + at}: would have {sizes[at]} nodes, and more than {MAX_BARE} in the file "
                "are named by no edge, feature or label; number the nodes from 0 without gaps"
            )
        self.bare = int(bare[-1])
        return sizes

    def _declared(self, graph: dict[str, Any], line: int) -> int:
        number = graph.get("num_nodes")
        if number is None:
            return -1
        if type(number) is not int or not 0 <= number <= MAX_NODES:
            raise DataError(f"{self.file}, line {line}: num_nodes is {shown(number)}, not a count of nodes; correct it")
        return number

    def _check_ends(self, ends: np.ndarray, rows: np.ndarray, sizes: np.ndarray, first: int) -> None:
        outside = ((ends < 0) | (ends >= np.repeat(sizes, rows)[:, None])).any(1)
        if not outside.any():
            return
        row = int(outside.argmax())
        at = int(np.searchsorted(np.cumsum(rows), row, side="right"))
        place = row - int(rows[:at].sum())
        raise DataError(
            f"{self.file}, line {first + at}: edges[{place}] is {ends[row].tolist()}, but the graph has {sizes[at]} "
            "nodes, counted from 0; correct the edge or num_nodes"
        )

    def _label(self, value: object, nodes: int, line: int) -> Label | list[Label | None] | None:
        try:
            if type(value) is not list:
                return json_label(value)
            if len(value) != nodes:
                raise ValueError(f"a list of {len(value)} for {nodes} nodes; write one class, or one for each node")
            return [json_label(item) for item in value]
        except ValueError as error:
            raise DataError(f"{self.file}, line {line}: y: {error}") from None

    def _labels(self) -> tuple[Level, list[Label | None] | None]:
        if not self.labelled:
            return "graph", None
        level: Level = "node" if len(self.y) == 1 and type(self.y[0]) is list else "graph"
        y = self.y[0] if level == "node" else self.y
        if level == "graph" and list in set(map(type, y)):
            line = next(i for i, label in enumerate(y, 1) if type(label) is list)
            raise DataError(
                f"{self.file}, line {line}: y is a list, one for each node; only a file of one graph may do that"
            )
        if (at := first_unlike(y)) is not None:
            place = f"line 1: y[{at}]" if level == "node" else f"line {at + 1}: y"
            before = "numbers" if isinstance(y[at], str) else "text"
            raise DataError(f"{self.file}, {place} is {shown(y[at])} after labels that are {before}; write one kind")
        return level, y


def _listed(graph: dict[str, Any]) -> int:
    """How many nodes the graph lists something about, -1 if it does not."""
    for key in ("x", "node_labels"):
        if type(values := graph.get(key)) is list:
            return len(values)
    return -1
