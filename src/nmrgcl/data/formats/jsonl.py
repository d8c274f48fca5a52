"""JSON Lines: one graph per line.

    {"edges": [[0, 1], [1, 2]], "num_nodes": 3, "x": [[0.5], [1], [2]], "y": "active"}

All keys but ``edges`` are optional:

- ``num_nodes``; ``x`` (numbers) and ``node_labels`` (integers, or text as categories), one entry per node;
  ``node_categories``, such as ``{"role": ["boss", null]}``, text or integers, one entry per node.
- ``edge_attr`` (numbers), ``edge_labels`` (integers) and ``edge_weight`` (positive), one entry per edge.
- ``y``, the class: an integer or text; in a file of one graph, it may be a list with the class of each node.
- ``id``, the name of the graph, and in a file of one graph ``node_ids``, the names of its nodes: text or integers.

An entry is a number or a list of numbers, equally many everywhere. Null means missing. Except for ``y`` and
``node_categories``, a key must occur in all graphs or in none; it may be omitted where there are no nodes or edges.

Nodes are numbered from 0 in every graph. Their number is ``num_nodes``, else the length of ``x``, ``node_labels`` or
``node_ids``, else one more than the largest number in ``edges``; isolated nodes at the end then need ``num_nodes``.

``[0, 1]`` is an undirected edge unless directions are kept. If both directions are listed, the first row of each gives
its label and attributes. Repeated edges are merged and their weights added; self-loops are removed; both are counted.
"""

from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nmrgcl.data.assemble import Listing, assemble
from nmrgcl.data.categories import Categories, categories_of
from nmrgcl.data.dataset import Dataset, Label, Level
from nmrgcl.data.files.archive import Readable
from nmrgcl.data.formats.classes import first_unlike, json_label, shown
from nmrgcl.data.formats.text import line_blocks, open_text, stem
from nmrgcl.data.ids import as_ids
from nmrgcl.data.texts import Texts
from nmrgcl.errors import DataError

if TYPE_CHECKING:
    from nmrgcl.data.formats.json_graph import JsonGraph

MAX_BARE = 10_000_000
"""Largest number of nodes in a file without edge, feature or label; more indicate a mistake and would take memory."""


def read_jsonl(path: Path, *, name: str | None = None, keep_directions: bool = False) -> Dataset:
    """Read the graphs of a ``.jsonl`` file, plain or gzipped, in order."""
    with open_text(path) as stream:
        return read_jsonl_stream(stream, str(path), name=name or stem(path), keep_directions=keep_directions)


def read_jsonl_stream(stream: Readable, file: str, *, name: str = "graphs", keep_directions: bool = False) -> Dataset:
    """Read graphs from a stream of bytes; messages refer to it as ``file``."""
    try:
        from nmrgcl.data.formats.json_graph import parse_line
    except ImportError:
        raise DataError("reading JSON lines needs msgspec; pip install msgspec") from None
    gathered = _Gathered(file)
    for first, lines in line_blocks(stream, file):
        graphs = []
        for line in lines:
            try:
                graphs.append(parse_line(line))
            except ValueError as error:
                raise DataError(f"{file}, line {first + len(graphs)}: {error}") from None
        gathered.add(graphs, first)
    return assemble(gathered.listing(), name, file, keep_directions=keep_directions)


class _Gathered:
    """Collects the graphs of all lines; graph ``i``, from 0, is on line ``i + 1``."""

    def __init__(self, file: str) -> None:
        self.file, self.nodes, self.bare, self.labelled = file, 0, 0, False
        self.sizes: list[np.ndarray] = []
        self.ends: list[np.ndarray] = []
        self.y: list[Any] = []
        self.ids: list[str | int | None] = []
        self.node_ids: tuple[int, list[str | int]] | None = None  # the first line with this key, and its value
        self.kinds = _Kinds(file)
        self.columns = {
            "node_attributes": _Column("x", "nodes", np.float32, file),
            "node_labels": _Column("node_labels", "nodes", np.int64, file),
            "edge_attributes": _Column("edge_attr", "edges", np.float32, file),
            "edge_labels": _Column("edge_labels", "edges", np.int64, file),
            "edge_weight": _Column("edge_weight", "edges", np.float32, file),
        }

    def add(self, graphs: "list[JsonGraph]", first: int) -> None:
        """Add a block of graphs, the first of which is on line ``first``."""
        rows = np.fromiter((len(graph.edges) for graph in graphs), np.int64, len(graphs))
        pairs = chain.from_iterable(graph.edges for graph in graphs)
        ends = np.fromiter(chain.from_iterable(pairs), np.int64, 2 * int(rows.sum())).reshape(-1, 2)
        sizes = self._sizes(graphs, ends, rows, first)
        self._check_ends(ends, rows, sizes, first)
        self.kinds.add(graphs, sizes, first)
        for column in self.columns.values():
            column.add(graphs, sizes if column.of == "nodes" else rows, first)
        starts = self.nodes + np.cumsum(sizes) - sizes
        # A small type, because two million molecules have 50 million edges.
        self.ends.append((ends + np.repeat(starts, rows)[:, None]).astype(np.int32))
        self.sizes.append(sizes)
        self.nodes += int(sizes.sum())
        self.ids += [graph.id for graph in graphs]
        for line, (graph, size) in enumerate(zip(graphs, sizes.tolist(), strict=True), first):
            self.labelled = self.labelled or graph.has_y
            if self.node_ids is None and graph.node_ids is not None:
                self.node_ids = line, graph.node_ids
            self.y.append(self._label(graph.y if graph.has_y else None, size, line))

    def listing(self) -> Listing:
        """Return all graphs."""
        if not self.sizes:
            raise DataError(f"{self.file}, line 1: the file is empty; write one graph per line")
        level, y = self._labels()
        ends = np.concatenate(self.ends)
        values: dict[str, Any] = {field: column.values() for field, column in self.columns.items()}
        values["categories"] = self.kinds.categories()
        values |= {"graph_ids": self._graph_ids(), "node_ids": self._node_ids()}
        return Listing(np.concatenate(self.sizes), ends[:, 0], ends[:, 1], y=y, level=level, **values)

    def _graph_ids(self) -> Texts | None:
        given = [line for line, name in enumerate(self.ids, 1) if name is not None]
        if given and len(given) < len(self.ids):
            line = self.ids.index(None) + 1
            raise DataError(
                f"{self.file}, line {line}: has no id, but line {given[0]} does; add it to all graphs or none"
            )
        return as_ids(self.ids) if given else None

    def _node_ids(self) -> Texts | None:
        if self.node_ids is None:
            return None
        line, names = self.node_ids
        if len(self.ids) > 1:
            raise DataError(f"{self.file}, line {line}: node_ids are allowed only in a file of one graph")
        if len(names) != self.nodes:
            lists = f"node_ids has {len(names)} entries, but the graph has {self.nodes} nodes"
            raise DataError(f"{self.file}, line {line}: {lists}; write one entry for each")
        return as_ids(names)

    def _sizes(self, graphs: "list[JsonGraph]", ends: np.ndarray, rows: np.ndarray, first: int) -> np.ndarray:
        """Return the ``[B]`` numbers of nodes: declared, else listed, else as many as the edges need."""
        listed = np.fromiter(map(_listed, graphs), np.int64, len(graphs))
        declared = np.fromiter((-1 if g.num_nodes is None else g.num_nodes for g in graphs), np.int64, len(graphs))
        largest = np.full(len(graphs), -1)
        some = rows > 0
        if len(ends):
            largest[some] = np.maximum.reduceat(ends.max(1), (np.cumsum(rows) - rows)[some])
        sizes = np.where(declared >= 0, declared, np.where(listed >= 0, listed, largest + 1))
        bare = self.bare + np.cumsum(np.maximum(sizes - np.maximum(listed, 2 * rows), 0))
        if (wrong := np.flatnonzero(bare > MAX_BARE)).size:
            at = int(wrong[0])
            raise DataError(
                f"{self.file}, line {first + at}: with its {sizes[at]} nodes, more than {MAX_BARE} in the file have no "
                "edge, feature or label; number the nodes from 0 without gaps"
            )
        self.bare = int(bare[-1])
        return sizes

    def _check_ends(self, ends: np.ndarray, rows: np.ndarray, sizes: np.ndarray, first: int) -> None:
        outside = (ends >= np.repeat(sizes, rows)[:, None]).any(1)
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
                raise ValueError(f"has {len(value)} classes for {nodes} nodes; write one class, or one per node")
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
                f"{self.file}, line {line}: y is a list of node classes, which is allowed only in a file of one graph"
            )
        if (at := first_unlike(y)) is not None:
            place = f"line 1: y[{at}]" if level == "node" else f"line {at + 1}: y"
            before = "numbers" if isinstance(y[at], str) else "text"
            raise DataError(f"{self.file}, {place} is {shown(y[at])} after labels that are {before}; use one kind")
        return level, y


class _Column:
    """Collects the values of a key with one entry per node or edge; it must occur in every graph or in none."""

    def __init__(self, key: str, of: str, dtype: type, file: str) -> None:
        self.key, self.of, self.dtype, self.file = key, of, dtype, file
        self.parts: list[np.ndarray] = []
        self.width: int | None = None  # numbers per entry; 0 if entries are plain numbers
        self.lines: dict[bool, int] = {}  # the first line with the key, and the first without

    def add(self, graphs: "list[JsonGraph]", counts: np.ndarray, first: int) -> None:
        """Add a block of graphs with ``counts`` nodes or edges each; a graph with none may omit the key."""
        given = [getattr(graph, self.key) for graph in graphs]
        for line, (values, count) in enumerate(zip(given, counts.tolist(), strict=True), first):
            if count:
                self.lines.setdefault(values is not None, line)
            if values is not None and len(values) != count:
                lists = f"{self.key} has {len(values)} entries, but the graph has {count} {self.of}"
                raise DataError(f"{self.file}, line {line}: {lists}; write one entry for each")
        if len(self.lines) == 2:
            raise DataError(
                f"{self.file}, line {self.lines[False]}: has no {self.key}, but line {self.lines[True]} does; "
                "add it to all graphs or none"
            )
        entries: list[Any] = list(chain.from_iterable(filter(None, given)))
        if entries:
            self.parts.append(self._array(entries, given, first))

    def values(self) -> np.ndarray | None:
        """Return ``[rows]`` weights or ``[rows, width]`` values; None if there are none."""
        if not self.parts:
            return None
        values = np.concatenate(self.parts)
        return values if self.key == "edge_weight" else values.reshape(-1, self.width or 1)

    def _array(self, entries: list[Any], given: Sequence[Any], first: int) -> np.ndarray:
        """Return the numbers of a block as a flat array."""
        if self.width is None:
            self.width = len(entries[0]) if type(entries[0]) is list else 0
        width = self.width
        kinds = set(map(type, entries))
        if (list in kinds) != bool(width) or len(kinds) > 1 or (width and set(map(len, entries)) != {width}):
            expected = f"a row of {width} numbers" if width else "a number"
            wrong = self._find(given, lambda entry: (len(entry) or -1 if type(entry) is list else 0) != width)
            raise self._refusal(wrong, first, f"is not {expected}, as before")
        numbers = list(chain.from_iterable(entries)) if width else entries
        with np.errstate(over="ignore"):
            array: np.ndarray = np.fromiter(numbers, self.dtype, len(numbers))
        right = np.isfinite(array) & (array > 0 if self.key == "edge_weight" else True)
        if not right.all():
            entry = entries[int(right.argmin()) // max(width, 1)]
            wrong = self._find(given, lambda other: other is entry)
            raise self._refusal(wrong, first, "contains a number that does not fit a 32-bit float")
        return array

    def _find(self, given: Sequence[Any], is_wrong: Callable[[Any], bool]) -> tuple[int, int]:
        """Return the first wrong entry, by its graph in the block and its index."""
        return next((i, j) for i, values in enumerate(given) for j, v in enumerate(values or ()) if is_wrong(v))

    def _refusal(self, wrong: tuple[int, int], first: int, why: str) -> DataError:
        return DataError(f"{self.file}, line {first + wrong[0]}: {self.key}[{wrong[1]}] {why}; correct that line")


class _Kinds:
    """Collects the categories of nodes by name; they may be missing from some graphs and nodes."""

    def __init__(self, file: str) -> None:
        self.file, self.nodes, self.cells = file, 0, 0
        self.parts: dict[str, list[tuple[int, list[int | str | None]]]] = {}  # the first node and the values
        self.types: dict[str, type] = {}

    def add(self, graphs: "list[JsonGraph]", sizes: np.ndarray, first: int) -> None:
        """Add a block of graphs; text in ``node_labels`` becomes the category ``label``."""
        for line, (graph, size) in enumerate(zip(graphs, sizes.tolist(), strict=True), first):
            labels = graph.node_labels
            given: dict[str, Any] = dict(graph.node_categories or {})
            if labels and type(labels[0]) is str:
                given["label"], graph.node_labels = labels, None
            elif labels and any(type(label) is str for label in labels):
                raise DataError(f"{self.file}, line {line}: node_labels: text after integers; use one kind")
            for name, values in given.items():
                self._add(name, values, size, line)
            self.nodes += size

    def _add(self, name: str, values: list[int | str | None], size: int, line: int) -> None:
        place = f"{self.file}, line {line}: {'node_labels' if name == 'label' else f'node_categories, {shown(name)}'}"
        if len(values) != size:
            raise DataError(f"{place}: has {len(values)} entries, but the graph has {size} nodes; write one for each")
        for kind in {type(value) for value in values if value is not None}:
            if self.types.setdefault(name, kind) is not kind:
                raise DataError(f"{place}: mixes text and integers; use one kind")
        self.parts.setdefault(name, []).append((self.nodes, values))
        self.cells += size

    def categories(self) -> Categories | None:
        """Return all categories."""
        if len(self.parts) * self.nodes > max(MAX_BARE, 4 * self.cells):
            raise DataError(f"{self.file}: most of the {len(self.parts)} node_categories are missing from most nodes")
        columns: dict[str, list[int | str | None]] = {}
        for name, parts in self.parts.items():
            column = columns[name] = [None] * self.nodes
            for start, values in parts:
                column[start : start + len(values)] = values
        return categories_of(columns)


def _listed(graph: "JsonGraph") -> int:
    """Return the number of nodes for which the graph lists values, -1 if there are none."""
    columns = (graph.x, graph.node_labels, graph.node_ids, *(graph.node_categories or {}).values())
    return next((len(values) for values in columns if values is not None), -1)
