"""Graphs whose nodes and edges have named attributes, as in GraphML, GML, NetworkX and igraph.

The attributes mean the following:

- Graph: ``y``, else ``label``, is its class; it may be missing.
- Node: ``y`` is its class, if there is only one graph; an integer ``label`` is its label.
- Edge: ``weight`` is its weight, 1 if missing; an integer ``label`` is its label.
- Any other attribute of nodes (edges) with numbers or booleans is a feature, which every node (edge) must have;
  features are in the order of their first appearance.
- A node attribute that contains only text, including ``label``, is a category and may be missing from some nodes. Text
  attributes of edges are left out with a note.

A user may also choose among the attributes.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath
from typing import Any

import numpy as np

from nmrgcl.data.assemble import Listing
from nmrgcl.data.categories import categories_of
from nmrgcl.data.chosen import ALL, Chosen
from nmrgcl.data.dataset import Label, Level
from nmrgcl.data.formats.attribute_values import Values, refusal
from nmrgcl.data.formats.classes import shown
from nmrgcl.data.ids import as_ids, distinct_ids
from nmrgcl.data.texts import Texts
from nmrgcl.errors import DataError, nearest, printable

Id = Any
"""Node ids are text or integers in files, and any hashable object in NetworkX."""
MAX_TEXTS = 10_000_000
"""Largest number of text values; beyond it, attributes that fewer than one node in ten has are left out."""


@dataclass(eq=False)
class Items:
    """The nodes, edges or graphs of a file in order: their attributes, and their lines for messages.

    If they are ``named``, as graphs in memory are, ``lines`` holds node names or the ends of edges instead.
    """

    kind: str
    file: str
    named: bool = False
    values: list[Values] = field(default_factory=list)
    lines: list[Any] = field(default_factory=list)

    def add(self, values: Values, line: Any) -> None:
        """Append an item; its values may be filled in later."""
        self.values.append(values)
        self.lines.append(line)


class AttributedGraph:
    """One graph of a file; its edges refer to nodes by id and may precede them.

    ``name`` is the graph's name in the file, and ``names`` are the names of nodes, if they have any besides their ids.
    """

    def __init__(self, file: str, line: Any, name: str | None = None, *, named: bool = False) -> None:
        self.name, self.names = name, list[str | None]()
        self.itself = Items("graph", file, named, [{}], [line])
        self.nodes, self.edges = Items("node", file, named), Items("edge", file, named)
        self.place: dict[Id, int] = {}
        self.ends: list[tuple[Id, Id]] = []
        self.both: list[bool] = []  # True for undirected edges

    @property
    def values(self) -> Values:
        """The attributes of the graph."""
        return self.itself.values[0]

    def add_node(self, name: Id, values: Values, line: Any, *, called: str | None = None) -> None:
        """Append a node, whose id must be new."""
        if name in self.place:
            raise refusal(self.nodes.file, line, f"node id {shown(name)} occurs twice; ids must be distinct")
        self.place[name] = len(self.place)
        self.nodes.add(values, line)
        self.names.append(called)

    def add_edge(self, source: Id, target: Id, both: bool, values: Values, line: Any) -> None:
        """Append an edge."""
        self.ends.append((source, target))
        self.both.append(both)
        self.edges.add(values, line)

    def positions(self) -> np.ndarray:
        """Return ``[R, 2]`` int64 source and target of each edge, numbered from the first node of the graph."""
        place = self.place
        try:
            pairs = [(place[source], place[target]) for source, target in self.ends]
        except KeyError as error:
            row = next(i for i, ends in enumerate(self.ends) if error.args[0] in ends)
            why = f"an edge refers to node {shown(error.args[0])}, which does not exist; correct the id"
            raise refusal(self.edges.file, self.edges.lines[row], why) from None
        return np.array(pairs, np.int64).reshape(-1, 2)


def listing(graphs: Sequence[AttributedGraph], chosen: Chosen = ALL) -> Listing:
    """Combine the graphs into one listing; if only some edges are undirected, these become two rows each."""
    sizes = np.array([len(graph.place) for graph in graphs], np.int64)
    starts = np.cumsum(sizes) - sizes
    ends = np.concatenate([graph.positions() + start for graph, start in zip(graphs, starts, strict=True)])
    both = np.array([both for graph in graphs for both in graph.both], bool)
    nodes, edges = _All([graph.nodes for graph in graphs]), _All([graph.edges for graph in graphs])
    y, level = _classes(_All([graph.itself for graph in graphs]), nodes)
    weight = edges.weights(chosen.edge_weight)
    of_nodes = nodes.features("y", chosen.node_feature, chosen.categorical)
    of_edges = edges.features(chosen.edge_weight or "weight", chosen.edge_feature, False)
    edge_labels, edge_attributes = of_edges.labels, of_edges.attributes
    mutual = bool(both.all())
    row = np.arange(len(ends))
    if not mutual:
        # In a file that also has directed edges, an undirected one becomes two rows; a self-loop stays one.
        row = np.repeat(row, 1 + (both & (ends[:, 0] != ends[:, 1])))
        ends = ends[row]
        second = np.flatnonzero(row[1:] == row[:-1]) + 1
        ends[second] = ends[second, ::-1]
    return Listing(
        sizes=sizes,
        source=ends[:, 0],
        destination=ends[:, 1],
        mutual=mutual,
        stated=True,
        edge_weight=None if weight is None else weight[row],
        edge_labels=None if edge_labels is None else edge_labels[row],
        edge_attributes=None if edge_attributes is None else edge_attributes[row],
        node_labels=of_nodes.labels,
        node_attributes=of_nodes.attributes,
        categories=categories_of(of_nodes.kinds),
        y=y,
        level=level,
        node_ids=(distinct_ids(graphs[0].names) or as_ids(graphs[0].place)) if len(graphs) == 1 else None,
        left_out=(*of_nodes.told("node"), *of_edges.told("edge")),
    )


def file_names(graphs: Sequence[AttributedGraph]) -> Texts:
    """Return ids of graphs: the name of the file; for several in a file, their own names, else numbered file names."""
    together: dict[str, list[AttributedGraph]] = {}
    for graph in graphs:
        together.setdefault(graph.itself.file, []).append(graph)
    ids: list[str] = []
    for file, several in together.items():
        stem = PurePath(file).stem
        own = distinct_ids([graph.name for graph in several])
        ids += [stem] if len(several) == 1 else own or [f"{stem}-{number}" for number in range(1, len(several) + 1)]
    return as_ids(ids)


@dataclass(eq=False)
class _Features:
    """Features of nodes or edges: ``[rows, 1]`` labels, ``[rows, D]`` numbers in parts, and categories by name."""

    labels: np.ndarray | None = None
    numbers: list[np.ndarray] = field(default_factory=list)
    kinds: dict[str, list[Any]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    @property
    def attributes(self) -> np.ndarray | None:
        return np.concatenate(self.numbers, 1) if self.numbers else None

    def told(self, kind: str) -> list[str]:
        """Return a note on unused attributes, if there are any."""
        if not self.left_out:
            return []
        names = ", ".join(shown(name) for name in self.left_out[:3]) + ", …" * (len(self.left_out) > 3)
        count = len(self.left_out)
        return [f"{count} {kind} attribute{'s' * (count > 1)} with text left out ({names})"]


class _All:
    """The nodes, edges or graphs of all files combined."""

    def __init__(self, parts: list[Items]) -> None:
        self.kind, self.parts = parts[0].kind, parts
        self.values = [values for part in parts for values in part.values]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The attributes in order of appearance, each with the number of its values that are numeric."""
        numbers: dict[str, int] = {}
        for values in self.values:
            for name, value in values.items():
                numbers[name] = numbers.get(name, 0) + (not isinstance(value, str))
        return numbers

    def refusal(self, i: int, why: str) -> DataError:
        part, line = [(part, line) for part in self.parts for line in part.lines][i]
        if part.named:
            return DataError(f"{part.file}, {self.kind} {printable(repr(line))[:60]}: {why}")
        return refusal(part.file, line, why)

    def features(self, except_for: str | None, wanted: tuple[str, ...] | None, categorical: bool) -> "_Features":
        """Convert the ``wanted`` attributes, or all but one, to features."""
        found = _Features()
        names = [name for name in self.numbers if name != except_for] if wanted is None else wanted
        for name in names:
            if name not in self.numbers and self.values:
                others = nearest(name[:32], self.numbers) if self.numbers else f"{self.kind}s have none"
                raise DataError(f"no {self.kind} has the attribute {shown(name)}; {others}")
        for name in [name for name in names if self.numbers.get(name)]:
            column = self._column(name)
            if name == "label" and column.ndim == 1:
                found.labels = np.array([[self.whole(i, name)] for i in range(len(self.values))], np.int64)
            elif categorical and column.dtype.kind in "iub":
                found.kinds[name] = column.astype(np.int64).tolist()
            else:
                found.numbers.append(self._finite(name, column))
        text = [name for name in names if self.numbers.get(name) == 0]
        kept = self._common(text) if self.kind == "node" else []
        found.kinds |= {name: [values.get(name) for values in self.values] for name in kept}
        found.left_out = [name for name in text if name not in set(kept)]
        return found

    def _column(self, name: str) -> np.ndarray:
        """Return the ``[rows]`` or ``[rows, D]`` numbers of an attribute, which every node or edge must have."""
        if self.numbers[name] < len(self.values):
            i = next(i for i, values in enumerate(self.values) if isinstance(values.get(name, ""), str))
            why = f"this {self.kind} has no number for the attribute {shown(name)}, but others do"
            raise self.refusal(i, f"{why}; add one to every {self.kind} or remove the attribute")
        column = [values[name] for values in self.values]
        shapes = [np.shape(value) for value in column]
        if len(set(shapes)) > 1:
            i = next(i for i, shape in enumerate(shapes) if shape != shapes[0])
            why = f"the attribute {shown(name)} has {math.prod(shapes[i])} numbers here and"
            raise self.refusal(i, f"{why} {math.prod(shapes[0])} elsewhere; every {self.kind} needs the same number")
        return np.array(column)

    def _finite(self, name: str, column: np.ndarray) -> np.ndarray:
        """Return ``[rows, D]`` float32, which must be finite."""
        with np.errstate(over="ignore"):
            numbers = column.astype(np.float64).astype(np.float32).reshape(len(column), -1)
        for i in np.flatnonzero(~np.isfinite(numbers).all(1))[:1].tolist():
            raise self.refusal(i, f"the attribute {shown(name)} is not a finite 32-bit float; correct it")
        return numbers

    def _common(self, names: list[str]) -> list[str]:
        """Return the attributes to keep: all, or only common ones if they would take too much memory."""
        if len(names) * len(self.values) <= MAX_TEXTS:
            return names
        given = Counter(name for values in self.values for name in values)
        return [name for name in names if 10 * given[name] >= len(self.values)]

    def classes(self, name: str) -> list[Label | None]:
        """Return the attribute as classes: text or integers, None where it is missing."""
        given = [values.get(name) for values in self.values]
        for i, value in enumerate(given):
            if isinstance(value, str) and not (value and value.isprintable()):
                raise self.refusal(i, f"{name} {shown(value)} is not a class; use printable text")
        return [v if v is None or isinstance(v, str) else self.whole(i, name) for i, v in enumerate(given)]

    def whole(self, i: int, name: str) -> int:
        """Return the attribute as an integer, written as 1, 1.0 or true."""
        value = self.values[i][name]
        # Beyond 2⁵³ floats skip integers, so the file may have meant another label.
        if isinstance(value, float) and not (value.is_integer() and abs(value) <= 2**53):
            why = f"{name} {value} is not an integer; labels are classes, so leave it out or rename it"
            raise self.refusal(i, why)
        return int(value)

    def weights(self, name: str | None) -> np.ndarray | None:
        """Return ``[rows]`` float32 weights, or None if no edge has one."""
        if name is None or name not in self.numbers:
            return None
        given = [values.get(name) for values in self.values]
        # Text and vectors become 0, so that the check below refuses them by their own value.
        weights = np.array([1 if w is None else 0 if isinstance(w, str | np.ndarray) else w for w in given], np.float32)
        for i in np.flatnonzero(~(weights > 0))[:1]:
            raise self.refusal(i, f"weight {shown(given[i])} is not a positive 32-bit float; correct it")
        return weights


def _classes(graphs: _All, nodes: _All) -> tuple[list[Label | None] | None, Level]:
    """Return the classes of graphs, or of the nodes of a single graph."""
    name = next((name for name in ("y", "label") if any(name in values for values in graphs.values)), None)
    first = next((i for i, values in enumerate(nodes.values) if "y" in values), None)
    if first is None:
        return None if name is None else graphs.classes(name), "graph"
    if len(graphs.values) > 1:
        why = f"a node has a class y, but there are {len(graphs.values)} graphs; label the graphs instead"
        raise nodes.refusal(first, why)
    if name == "y":
        raise nodes.refusal(first, "both this node and the graph have a class y; remove one of the two")
    return nodes.classes("y"), "node"
