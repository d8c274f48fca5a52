"""Graphs in memory with named attributes, as in NetworkX and igraph; they follow the rules for GraphML files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nmrgcl.data.assemble import Listing
from nmrgcl.data.chosen import Chosen
from nmrgcl.data.formats.attribute_values import Value, Values
from nmrgcl.data.formats.attributed import AttributedGraph, listing
from nmrgcl.data.formats.classes import shown
from nmrgcl.errors import DataError, printable


@dataclass(eq=False)
class MemoryGraphs:
    """Collects graphs one after another; messages refer to nodes by the names that their library gives them."""

    chosen: Chosen
    graphs: list[AttributedGraph] = field(default_factory=list)
    unusable: set[str] = field(default_factory=set)

    def add_graph(self, attributes: Mapping[Any, Any]) -> None:
        """Start the next graph; of its attributes only the class is used."""
        self.graphs.append(AttributedGraph(f"graph {len(self.graphs)}", "attributes", named=True))
        classes = {name: attributes[name] for name in ("y", "label") if name in attributes}
        self.graphs[-1].values.update(self._usable("graph", "", classes, ("y", "label")))

    def add_node(self, name: Any, attributes: Mapping[Any, Any]) -> None:
        """Add a node to the last graph."""
        wanted = self.chosen.node_feature
        values = self._usable("node", name, attributes, None if wanted is None else (*wanted, "y"))
        self.graphs[-1].add_node(name, values, name)

    def add_edge(self, source: Any, target: Any, both: bool, attributes: Mapping[Any, Any]) -> None:
        """Add an edge to the last graph."""
        wanted, weight = self.chosen.edge_feature, self.chosen.edge_weight
        values = self._usable("edge", (source, target), attributes, None if wanted is None else (*wanted, weight))
        self.graphs[-1].add_edge(source, target, both, values, (source, target))

    def listing(self) -> Listing:
        """List all graphs; unusable classes and attributes are left out with a note."""
        notes = [f"the {name} left out (neither numbers nor text)" for name in sorted(self.unusable)]
        notes += _without_targets([graph.values for graph in self.graphs], "y", several=False)
        notes += _without_targets([graph.values for graph in self.graphs], "label", several=False)
        nodes = [values for graph in self.graphs for values in graph.nodes.values]
        notes += _without_targets(nodes, "y", several=len(self.graphs) > 1)
        made = listing(self.graphs, self.chosen)
        return replace(made, left_out=(*made.left_out, *notes))

    def _usable(self, kind: str, name: Any, attributes: Mapping[Any, Any], wanted: Sequence[Any] | None) -> Values:
        values: Values = {}
        for key, given in attributes.items():
            if given is None:
                continue
            if (value := _plain(given)) is not None:
                values[str(key)] = value
            elif wanted is None:
                self.unusable.add(f"{kind} attribute {shown(str(key))}")
            elif key in wanted:
                place = f"graph {len(self.graphs) - 1}, {kind} {printable(repr(name))[:60]}"
                what = f"the attribute {shown(key)} is a {type(given).__name__}"
                raise DataError(f"{place}: {what}, not text or numbers; convert it or leave it out")
        return values


def _plain(value: Any) -> Value | None:
    """Return text, a number, or ``[D]`` numbers; None for any other value."""
    if isinstance(value, str | bool):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else None
    if isinstance(value, float):
        return float(value)
    try:
        array = np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
    except (TypeError, ValueError, RuntimeError):  # rows of different lengths
        return None
    if array.dtype.kind not in "biufU" or array.ndim > 1 or not array.size or (array.ndim and array.dtype.kind == "U"):
        return None
    return array.item() if array.size == 1 else array


def _without_targets(holders: list[Values], name: str, *, several: bool) -> list[str]:
    """Remove values that cannot be classes, such as regression targets, or node classes of several graphs."""
    why = "nodes have classes only in a single graph" if several else None
    for values in holders:
        value = values.get(name)
        if isinstance(value, float) and np.isnan(value):
            del values[name]
        elif isinstance(value, np.ndarray) or (isinstance(value, float) and not value.is_integer()):
            why = why or "classes must be integers or text"
    if why is None or not any(name in values for values in holders):
        return []
    for values in holders:
        values.pop(name, None)
    return [f"{name} left out ({why})"]
