"""Graphs whose nodes and edges carry named attributes, as GraphML and GML list them: which attribute means what.

- Graph: ``y``, else ``label``, is its class; where a graph has none, its class is missing.
- Node: ``y`` is its class, if there is only one graph; an integer ``label`` is its label.
- Edge: ``weight`` is its weight, 1 where it has none; an integer ``label`` is its label.
- Every other attribute of nodes (edges) with numbers or booleans is a feature, and each node (edge) must have it;
  features stand in the order in which they first appear. Attributes with nothing but text are not features.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

import numpy as np

from nmrgcl.data.assemble import Listing
from nmrgcl.data.dataset import Label, Level
from nmrgcl.data.formats.attribute_values import Values, refusal, shown
from nmrgcl.data.ids import as_ids, distinct_ids
from nmrgcl.data.texts import Texts
from nmrgcl.errors import DataError

Id = str | int


@dataclass(eq=False)
class Items:
    """Nodes, edges or graphs of one file in their order: the attributes of each, and its line for messages."""

    kind: str
    file: str
    values: list[Values] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    def add(self, values: Values, line: int) -> None:
        """The next one; its values may be filled in later."""
        self.values.append(values)
        self.lines.append(line)


class AttributedGraph:
    """One graph of a file; its edges name nodes by their ids and may be listed before them.

    ``name`` is what the file calls the graph, ``names`` what it calls nodes beside their ids.
    """

    def __init__(self, file: str, line: int, name: str | None = None) -> None:
        self.name, self.names = name, list[str | None]()
        self.itself = Items("graph", file, [{}], [line])
        self.nodes, self.edges = Items("node", file), Items("edge", file)
        self.place: dict[Id, int] = {}
        self.ends: list[tuple[Id, Id]] = []
        self.both: list[bool] = []  # whether an edge leads both ways

    @property
    def values(self) -> Values:
        """Attributes of the graph."""
        return self.itself.values[0]

    def add_node(self, name: Id, values: Values, line: int, *, called: str | None = None) -> None:
        """The next node, whose id must be new."""
        if name in self.place:
            raise refusal(self.nodes.file, line, f"node id {shown(name)} is used twice; give each node its own id")
        self.place[name] = len(self.place)
        self.nodes.add(values, line)
        self.names.append(called)

    def add_edge(self, source: Id, target: Id, both: bool, values: Values, line: int) -> None:
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


def listing(graphs: Sequence[AttributedGraph]) -> Listing:
    """All graphs as one listing; where not all edges lead both ways, those that do become two rows."""
    sizes = np.array([len(graph.place) for graph in graphs], np.int64)
    starts = np.cumsum(sizes) - sizes
    ends = np.concatenate([graph.positions() + start for graph, start in zip(graphs, starts, strict=True)])
    both = np.array([both for graph in graphs for both in graph.both], bool)
    nodes, edges = _All([graph.nodes for graph in graphs]), _All([graph.edges for graph in graphs])
    y, level = _classes(_All([graph.itself for graph in graphs]), nodes)
    weight = edges.weights()
    node_labels, node_attributes = nodes.features(except_for="y")
    edge_labels, edge_attributes = edges.features(except_for="weight")
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
        edge_weight=None if weight is None else weight[row],
        edge_labels=None if edge_labels is None else edge_labels[row],
        edge_attributes=None if edge_attributes is None else edge_attributes[row],
        node_labels=node_labels,
        node_attributes=node_attributes,
        y=y,
        level=level,
        node_ids=(distinct_ids(graphs[0].names) or as_ids(graphs[0].place)) if len(graphs) == 1 else None,
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


class _All:
    """The nodes, edges or graphs of all files together."""

    def __init__(self, parts: list[Items]) -> None:
        self.kind, self.parts = parts[0].kind, parts
        self.values = [values for part in parts for values in part.values]

    def refusal(self, i: int, why: str) -> DataError:
        file, line = [(part.file, line) for part in self.parts for line in part.lines][i]
        return refusal(file, line, why)

    def features(self, except_for: str) -> tuple[np.ndarray | None, np.ndarray | None]:
        """``[rows, 1]`` int64 labels and ``[rows, D]`` float32 attributes, None where there are none."""
        numbers: dict[str, int] = {}
        for values in self.values:
            for name, value in values.items():
                numbers[name] = numbers.get(name, 0) + (not isinstance(value, str))
        names = [name for name, count in numbers.items() if count and name != except_for]
        for name in names:
            if numbers[name] < len(self.values):
                i = next(i for i, values in enumerate(self.values) if isinstance(values.get(name, ""), str))
                why = f"{self.kind} without a number for the attribute {shown(name)}, which others have"
                raise self.refusal(i, f"{why}; give every {self.kind} one or remove the attribute")
        labels = None
        if "label" in names:
            names.remove("label")
            labels = np.array([[self.whole(i, "label")] for i in range(len(self.values))], np.int64)
        if not names:
            return labels, None
        return labels, np.array([[values[name] for name in names] for values in self.values], np.float32)

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

    def weights(self) -> np.ndarray | None:
        """``[rows]`` float32, or None where no edge has one."""
        given = [values.get("weight") for values in self.values]
        if given.count(None) == len(given):
            return None
        weights = np.array([1 if w is None else 0 if isinstance(w, str) else w for w in given], np.float32)
        for i in np.flatnonzero(weights <= 0)[:1]:
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
