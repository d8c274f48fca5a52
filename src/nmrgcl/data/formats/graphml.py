"""GraphML (Brandes et al. 2002): keys declare attributes; ``<data>`` elements give their values.

``attributed`` defines what attributes mean. Elements of other namespaces and keys without name and type, in which
editors store drawings, are ignored, and so is an empty ``<data>``. Nested graphs, hyperedges and ports are errors.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.formats.attribute_values import Value, Values, read_boolean, read_integer, read_real, refusal
from nmrgcl.data.formats.attributed import AttributedGraph
from nmrgcl.data.formats.classes import shown
from nmrgcl.data.formats.graph_files import read_graph_files
from nmrgcl.data.formats.xml_elements import XmlReader

MAX_FILLED = 1_000_000
"""Largest number of values that defaults may fill in, or four per byte of the file if that is more."""

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


def read_graphml(path: Path, **options: Any) -> Dataset:
    """Read a ``.graphml`` file or a folder of them; ``read_graph_files`` describes the options."""
    return read_graph_files(path, ".graphml", parse_graphml, **options)


def parse_graphml(file: str, content: bytes) -> list[AttributedGraph]:
    """Return the graphs of a file, given its name and content."""
    reader = _GraphmlReader(file, max(MAX_FILLED, 4 * len(content)))
    reader.read(content)
    return reader.graphs


@dataclass(frozen=True)
class _Key:
    """The declaration of an attribute; ``<data>`` of a key without a name is ignored."""

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
        "graph": "nested graphs are not supported, so move it out",
        "hyperedge": "hyperedges are not supported, so write edges instead",
        "port": "ports are not supported, so let edges end at nodes",
        "locator": "other files are not read, so copy its content into this one",
    }

    def __init__(self, file: str, fill: int) -> None:
        super().__init__(file)
        self.fill = fill
        self.graphs: list[AttributedGraph] = []
        self.keys: dict[str, _Key] = {}
        self.defaults: dict[str, Values] = {kind: {} for kind in _ANYTHING}
        self.directed = False
        self.key = _Key(None, (), str)  # the one last declared or used
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
            raise self.refusal(f"key {shown(name)} is not declared; add a <key> for it before the graphs")
        self.key = self.keys[name]
        if around not in self.key.scopes:
            raise self.refusal(f"key {shown(name)} is not declared for {around}s; correct the 'for' of its <key>")

    def _keep(self, values: Values, text: str | None) -> None:
        """Store the text of a ``<data>`` or ``<default>`` element in ``values``."""
        name, convert = self.key.name, self.key.convert
        if name is None or text == "" or (text is None and convert is str):
            return
        try:
            if text is None:
                raise ValueError("an element is not a number")
            if name in values:
                raise ValueError("there is already a value")
            values[name] = text if convert is str else convert(text.strip(" \t\r\n"))
        except ValueError as error:
            why = f"attribute {shown(name)}: {error}; correct it or the attr.type of its key"
            raise refusal(self.file, self.value_line, why) from None

    def _fill(self, graph: AttributedGraph) -> None:
        """Fill in the defaults of missing attributes."""
        for items in (graph.itself, graph.nodes, graph.edges):
            if defaults := self.defaults[items.kind]:
                self.fill -= len(defaults) * len(items.values)
                if self.fill < 0:
                    why = f"{len(defaults)} defaults for {len(items.values)} {items.kind}s take too much memory"
                    raise self.refusal(f"{why}; write the values where they are needed instead")
                for values in items.values:
                    for name, value in defaults.items():
                        values.setdefault(name, value)

    def _need(self, kind: str, name: str, attributes: dict[str, str]) -> str:
        if name not in attributes:
            raise self.refusal(f"<{kind}> without {name!r}; add it")
        return attributes[name]

    def _choose(self, kind: str, name: str, attributes: dict[str, str], choices: dict[str, Choice]) -> Choice:
        if (chosen := self._need(kind, name, attributes)) not in choices:
            raise self.refusal(f"{name} {shown(chosen)} must be one of {', '.join(choices)}")
        return choices[chosen]
