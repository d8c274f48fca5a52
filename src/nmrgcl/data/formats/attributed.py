"""Graphs whose nodes and edges carry named attributes, as GraphML and GML list them: which attribute means what.

- Graph: ``y``, else ``label``, is its class; where a graph has none, its class is missing.
- Node: ``y`` is its class, if there is only one graph; an integer ``label`` is its label.
- Edge: ``weight`` is its weight, 1 where it has none; an integer ``label`` is its label.
- Every other attribute of nodes (edges) with numbers or booleans is a feature, and each node (edge) must have it;
  features stand in the order in which they first appear.
- An attribute of nodes with nothing but text is a category, also ``label``; a node may lack it. Text of edges is left
  out, which is noted.

NetworkX and igraph graphs are read in the same way, and there a user may choose among the attributes.
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
from nmrgcl.data.formats.attribute_values import Values, refusal, shown
from nmrgcl.data.ids import as_ids, distinct_ids
from nmrgcl.data.texts import Texts
from nmrgcl.errors import DataError, nearest, printable

Id = Any
"""Files name nodes by text or whole numbers, NetworkX by anything."""
MAX_TEXTS = 10_000_000
"""Cells of a table of text attributes; in a larger one attributes that nine of ten nodes lack are left out."""


@dataclass(eq=False)
class Items:
    """Nodes, edges or graphs of one file in their order: the attributes of each, and for messages its line.

    In memory they are ``named``: then in place of a line there is the name of a node, or the ends of an edge.
    """

    kind: str
    file: str
    named: bool = False
    values: list[Values] = field(default_factory=list)
    lines: list[Any] = field(default_factory=list)

    def add(self, values: Values, line: Any) -> None:
        """The next one; its values may be filled in later."""
        self.values.append(values)
        self.lines.append(line)


class AttributedGraph:
    """One graph of a file; its edges name nodes by their ids and may be listed before them.

    ``name`` is what the file calls the graph, ``names`` what it calls nodes beside their ids.
    """

    def __init__(self, file: str, line: Any, name: str | None = None, *, named: bool = False) -> None:
        self.name, self.names = name, list[str | None]()
        self.itself = Items("graph", file, named, [{}], [line])
        self.nodes, self.edges = Items("node", file, named), Items("edge", file, named)
        self.place: dict[Id, int] = {}
        self.ends: list[tuple[Id, Id]] = []
        self.both: list[bool] = []  # whether an edge leads both ways

    @property
    def values(self) -> Values:
        """Attributes of the graph."""
        return self.itself.values[0]

    def add_node(self, name: Id, values: Values, line: Any, *, called: str | None = None) -> None:
        """The next node, whose id must be new."""
        if name in self.place:
            raise refusal(self.nodes.file, line, f"node id {shown(name)} is used twice; give each node its own id")
        self.place[name] = len(self.place)
        self.nodes.add(values, line)
        self.names.append(called)

    def add_edge(self, source: Id, target: Id, both: bool, values: Values, line: Any) -> None:
        """The next edge."""
        self.ends.append((source, target))
        self.both.append(both)
        self.edges.add(values, line)

    def positions(self) -> np.ndarray:
        """``[R, 2]`` int64, the source and target of each edge, counted from the first node of the graph."""
        place = self.place
        try:
            pairs = [(place[source], place[target]) for source, target in self.ends]
        except KeyError as error:
            row = next(i for i, ends in enumerate(self.ends) if error.args[0] in ends)
            why = f"an edge names node {shown(error.args[0])}, which the graph does not have; correct the id"
            raise refusal(self.edges.file, self.edges.lines[row], why) from None
        return np.array(pairs, np.int64).reshape(-1, 2)


def listing(graphs: Sequence[AttributedGraph], chosen: Chosen = ALL) -> Listing:
    """All graphs as one listing; where not all edges lead both ways, those that do become two rows."""
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
    """Ids of graphs: the name of the file; in one with several, what it calls each, or else that name and a number."""
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
    """Of nodes or edges: ``[rows, 1]`` labels, ``[rows, D]`` numbers in parts, and the attributes that name kinds."""

    labels: np.ndarray | None = None
    numbers: list[np.ndarray] = field(default_factory=list)
    kinds: dict[str, list[Any]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    @property
    def attributes(self) -> np.ndarray | None:
        return np.concatenate(self.numbers, 1) if self.numbers else None

    def told(self, kind: str) -> list[str]:
        """Which attributes are not used."""
        if not self.left_out:
            return []
        names = ", ".join(shown(name) for name in self.left_out[:3]) + ", …" * (len(self.left_out) > 3)
        count = len(self.left_out)
        return [f"{count} {kind} attribute{'s' * (count > 1)} with text left out ({names})"]


class _All:
    """The nodes, edges or graphs of all files together."""

    def __init__(self, parts: list[Items]) -> None:
        self.kind, self.parts = parts[0].kind, parts
        self.values = [values for part in parts for values in part.values]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The attributes in the order of their appearance, and how many values of each are numbers."""
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
        """What becomes of the attributes: of all but one, or of those that are ``wanted``."""
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
        """``[rows]`` or ``[rows, D]``: the numbers of an attribute, which every node or edge must have."""
        if self.numbers[name] < len(self.values):
            i = next(i for i, values in enumerate(self.values) if isinstance(values.get(name, ""), str))
            why = f"{self.kind} without a number for the attribute {shown(name)}, which others have"
            raise self.refusal(i, f"{why}; give every {self.kind} one or remove the attribute")
        column = [values[name] for values in self.values]
        shapes = [np.shape(value) for value in column]
        if len(set(shapes)) > 1:
            i = next(i for i, shape in enumerate(shapes) if shape != shapes[0])
            why = f"the attribute {shown(name)} holds {math.prod(shapes[i])} numbers and that of others "
            raise self.refusal(i, f"{why}{math.prod(shapes[0])}; give every {self.kind} as many")
        return np.array(column)

    def _finite(self, name: str, column: np.ndarray) -> np.ndarray:
        """``[rows, D]`` float32."""
        with np.errstate(over="ignore"):
            numbers = column.astype(np.float64).astype(np.float32).reshape(len(column), -1)
        for i in np.flatnonzero(~np.isfinite(numbers).all(1))[:1].tolist():
            raise self.refusal(i, f"the attribute {shown(name)} is not a finite 32-bit number; correct it")
        return numbers

    def _common(self, names: list[str]) -> list[str]:
        """Those of the attributes that can be kept in memory: all, but of very many only those that many nodes have."""
        if len(names) * len(self.values) <= MAX_TEXTS:
            return names
        given = Counter(name for values in self.values for name in values)
        return [name for name in names if 10 * given[name] >= len(self.values)]

    def classes(self, name: str) -> list[Label | None]:
        """The attribute as a class: text, an integer, or None where it is missing."""
        given = [values.get(name) for values in self.values]
        for i, value in enumerate(given):
            if isinstance(value, str) and not (value and value.isprintable()):
                raise self.refusal(i, f"{name} {shown(value)} is no class; use text that can be printed")
        return [v if v is None or isinstance(v, str) else self.whole(i, name) for i, v in enumerate(given)]

    def whole(self, i: int, name: str) -> int:
        """The attribute as an integer, be it written as 1, 1.0 or true."""
        value = self.values[i][name]
        if isinstance(value, float) and not (value.is_integer() and abs(value) <= 2**53):
            why = f"{name} {value} is not an integer; labels are classes, so leave it out or give it another name"
            raise self.refusal(i, why)
        return int(value)

    def weights(self, name: str | None) -> np.ndarray | None:
        """``[rows]`` float32, or None where no edge has one."""
        if name is None or name not in self.numbers:
            return None
        given = [values.get(name) for values in self.values]
        weights = np.array([1 if w is None else 0 if isinstance(w, str | np.ndarray) else w for w in given], np.float32)
        for i in np.flatnonzero(~(weights > 0))[:1]:
            raise self.refusal(i, f"weight {shown(given[i])} is not a positive number that 32 bits hold; correct it")
        return weights


def _classes(graphs: _All, nodes: _All) -> tuple[list[Label | None] | None, Level]:
    """The classes of graphs, or of the nodes of the only graph."""
    name = next((name for name in ("y", "label") if any(name in values for values in graphs.values)), None)
    first = next((i for i, values in enumerate(nodes.values) if "y" in values), None)
    if first is None:
        return None if name is None else graphs.classes(name), "graph"
    if len(graphs.values) > 1:
        why = f"a node has a class y, but there are {len(graphs.values)} graphs; give the graphs a class instead"
        raise nodes.refusal(first, why)
    if name == "y":
        raise nodes.refusal(first, "a node has a class y, and so has the graph; remove one of the two")
    return nodes.classes("y"), "node"
