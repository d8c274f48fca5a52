"""GraphML (Brandes et al. 2002): keys declare attributes, ``<data>`` elements of graphs, nodes and edges hold them.

``attributed`` says what attributes mean. Elements of other namespaces and keys without name and type, in which editors
keep their drawings, are passed over; an empty ``<data>`` is no value. Nested graphs, hyperedges and ports are refused.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, TypeVar

from nmrgcl.data.assemble import assemble
from nmrgcl.data.chosen import ALL, Chosen
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.formats.attribute_values import Value, Values, read_boolean, read_integer, read_real, refusal, shown
from nmrgcl.data.formats.attributed import AttributedGraph, file_names, listing
from nmrgcl.data.formats.graph_files import default_name, graph_files
from nmrgcl.data.formats.xml_elements import XmlReader
from nmrgcl.errors import DataError

MAX_FILLED = 1_000_000
"""Defaults may stand for this many values, or for four a byte of the file if that is more: each takes memory."""

_ANYTHING = ("graphml", "graph", "node", "edge", "hyperedge", "port", "endpoint")
_SCOPES: dict[str, tuple[str, ...]] = {kind: (kind,) for kind in _ANYTHING} | {"all": _ANYTHING}
_TYPES: dict[str, Callable[[str], Value]] = {
    "boolean": read_boolean,
    "int": read_integer,
    "integer": read_integer,  # not in the standard, but in files
    "long": read_integer,
    "float": read_real,
    "double": read_real,
    "string": str,
}
_BOOLEANS = {"true": True, "false": False, "1": True, "0": False}
Choice = TypeVar("Choice")


def read_graphml(
    path: Path, *, name: str | None = None, keep_directions: bool = False, chosen: Chosen = ALL
) -> Dataset:
    """The graphs of a file, or of all ``.graphml`` files of a folder, g2 before g10."""
    files = graph_files(path, ".graphml")
    name = name or default_name(path)
    return read_graphml_files(files, str(path), name=name, keep_directions=keep_directions, chosen=chosen)


def read_graphml_files(
    files: Iterable[tuple[str, bytes]],
    source: str,
    *,
    name: str = "graphs",
    keep_directions: bool = False,
    chosen: Chosen = ALL,
) -> Dataset:
    """The same from names and contents; ``source`` is what messages call all of them."""
    graphs: list[AttributedGraph] = []
    for file, content in files:
        reader = _GraphmlReader(file, max(MAX_FILLED, 4 * len(content)))
        reader.read(content)
        graphs += reader.graphs
    if not graphs:
        raise DataError(f"{source}: holds no <graph>, so there is nothing to read; is it GraphML?")
    listed = replace(listing(graphs, chosen), graph_ids=file_names(graphs))
    return assemble(listed, name, source, keep_directions=keep_directions)


@dataclass(frozen=True)
class _Key:
    """What ``<data>`` elements refer to; one without a name is of no use here."""

    name: str | None
    scopes: tuple[str, ...]
    convert: Callable[[str], Value]


class _GraphmlReader(XmlReader):
    inside: ClassVar = {
        "": ("graphml",),
        "graphml": ("key", "graph"),
        "key": ("default",),
        "graph": ("node", "edge", "data"),
        "node": ("data",),
        "edge": ("data",),
    }
    with_text = ("data", "default")
    passed_over = frozenset({("graphml", "data"), *((kind, "desc") for kind in inside)})
    remedies: ClassVar = {
        "graph": "nested graphs are not read, so list each graph beside the others",
        "hyperedge": "an edge joins two nodes, so write edges instead",
        "port": "ports are not read, so let edges name nodes only",
        "locator": "other files are not followed, so copy what it names into this one",
    }

    def __init__(self, file: str, fill: int) -> None:
        super().__init__(file)
        self.fill = fill
        self.graphs: list[AttributedGraph] = []
        self.keys: dict[str, _Key] = {}
        self.defaults: dict[str, Values] = {kind: {} for kind in _ANYTHING}
        self.directed = False
        self.key = _Key(None, (), str)  # the last one that was declared or referred to
        self.values: Values = {}  # of the last node or edge
        self.value_line = 0

    def begin(self, kind: str, around: str, attributes: dict[str, str]) -> None:
        if kind in self.with_text:
            self.value_line = self.line
        if kind == "data":
            self._begin_data(around, attributes)
        elif kind == "node":
            self.values = {}
            self.graphs[-1].add_node(self._need(kind, "id", attributes), self.values, self.line)
        elif kind == "edge":
            self._begin_edge(attributes)
        elif kind == "key":
            self._begin_key(attributes)
        elif kind == "graph":
            self.graphs.append(AttributedGraph(self.file, self.line, attributes.get("id")))
            self.directed = self._choose(kind, "edgedefault", attributes, {"directed": True, "undirected": False})

    def end(self, kind: str, around: str, text: str | None) -> None:
        if kind == "data":
            self._keep(self.graphs[-1].values if around == "graph" else self.values, text)
        elif kind == "default":
            for scope in self.key.scopes:
                self._keep(self.defaults[scope], text)
        elif kind == "graph":
            self._fill(self.graphs[-1])

    def _begin_key(self, attributes: dict[str, str]) -> None:
        name = self._need("key", "id", attributes)
        if name in self.keys:
            raise self.refusal(f"key id {shown(name)} is used twice; give each key its own id")
        if "attr.type" in attributes:
            self._need("key", "attr.name", attributes)
        scopes = self._choose("key", "for", {"for": "all"} | attributes, _SCOPES)
        convert = self._choose("key", "attr.type", {"attr.type": "string"} | attributes, _TYPES)
        self.key = self.keys[name] = _Key(attributes.get("attr.name"), scopes, convert)

    def _begin_edge(self, attributes: dict[str, str]) -> None:
        ends = [self._need("edge", end, attributes) for end in ("source", "target")]
        if "sourceport" in attributes or "targetport" in attributes:
            raise self.refusal(f"an edge ends at a port; {self.remedies['port']}")
        directed = self.directed
        if "directed" in attributes:
            directed = self._choose("edge", "directed", attributes, _BOOLEANS)
        self.values = {}
        self.graphs[-1].add_edge(ends[0], ends[1], not directed, self.values, self.line)

    def _begin_data(self, around: str, attributes: dict[str, str]) -> None:
        name = self._need("data", "key", attributes)
        if name not in self.keys:
            raise self.refusal(f"key {shown(name)} is not declared above; add a <key> for it in front of the graphs")
        self.key = self.keys[name]
        if around not in self.key.scopes:
            raise self.refusal(f"key {shown(name)} is not declared for {around}s; correct the 'for' of its <key>")

    def _keep(self, values: Values, text: str | None) -> None:
        """The text of ``<data>`` or ``<default>`` among the values of what it stands in."""
        name, convert = self.key.name, self.key.convert
        if name is None or text == "" or (text is None and convert is str):
            return
        try:
            if text is None:
                raise ValueError("an element is not a number")
            if name in values:
                raise ValueError("there is a value already")
            values[name] = text if convert is str else convert(text.strip(" \t\r\n"))
        except ValueError as error:
            why = f"attribute {shown(name)}: {error}; correct it or the attr.type of its key"
            raise refusal(self.file, self.value_line, why) from None

    def _fill(self, graph: AttributedGraph) -> None:
        """Give everything in the graph the defaults of what it lacks."""
        for items in (graph.itself, graph.nodes, graph.edges):
            if defaults := self.defaults[items.kind]:
                self.fill -= len(defaults) * len(items.values)
                if self.fill < 0:
                    why = f"{len(defaults)} defaults for {len(items.values)} {items.kind}s take too much memory"
                    raise self.refusal(f"{why}; write values where they are needed instead")
                for values in items.values:
                    for name, value in defaults.items():
                        values.setdefault(name, value)

    def _need(self, kind: str, name: str, attributes: dict[str, str]) -> str:
        if name not in attributes:
            raise self.refusal(f"<{kind}> without {name!r}; add it")
        return attributes[name]

    def _choose(self, kind: str, name: str, attributes: dict[str, str], choices: dict[str, Choice]) -> Choice:
        if (chosen := self._need(kind, name, attributes)) not in choices:
            raise self.refusal(f"{name} {shown(chosen)} is none of {', '.join(choices)}; correct it")
        return choices[chosen]
