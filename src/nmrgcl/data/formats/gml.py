"""GML (Himsolt 1997): keys, each with a number, a string or a list of such pairs, and ``#`` for comments.

``attributed`` defines what attributes mean, except that the ``label`` of a node or graph is only its name in GML; if
the labels of nodes are distinct, they become their ids. The following are ignored: lists inside nodes, edges and
graphs, in which editors store drawings; ``comment``; the ``id`` of an edge; and its ``key`` if the graph has
``multigraph 1``.
"""

import html
import re
from pathlib import Path
from typing import Any

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.formats.attribute_values import Value, Values, read_integer, read_real, refusal
from nmrgcl.data.formats.attributed import AttributedGraph
from nmrgcl.data.formats.classes import shown
from nmrgcl.data.formats.graph_files import read_graph_files
from nmrgcl.errors import DataError

_GAP = r"(?>\s+|\#[^\n]*+)*+"
# Each match begins where the last one ended: after a gap come a pair, a bracket, an error, or the end.
_PAIR = re.compile(
    rf'{_GAP}(?:(?P<key>[A-Za-z]\w*+)(?=[\s\["#]){_GAP}'
    r'(?:(?:(?P<number>[-+.0-9][^\s\[\]"#]*+)|"(?P<text>[^"]*+)")(?=[\s\[\]#]|\Z)|(?P<list>\[))'
    r"|(?P<end>\])|(?P<wrong>.)|\Z)",
    re.ASCII | re.DOTALL,
)
_ENTITY = re.compile(r"&(?:[A-Za-z][0-9A-Za-z]*+|#[0-9]{1,8}|#[xX][0-9A-Fa-f]{1,8});")
_AROUND = {"graph": "", "node": "graph", "edge": "graph"}


def read_gml(path: Path, **options: Any) -> Dataset:
    """Read a ``.gml`` file or a folder of them; ``read_graph_files`` describes the options."""
    return read_graph_files(path, ".gml", parse_gml, **options)


def parse_gml(file: str, content: bytes) -> list[AttributedGraph]:
    """Return the graphs of a file, given its name and content."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        why = f"byte 0x{content[error.start]:02x} is neither ASCII nor UTF-8; save the file as UTF-8"
        raise refusal(file, line, why) from None
    return _GmlReader(file, text.replace("\r\n", "\n").replace("\r", "\n")).read()


class _GmlReader:
    """Reads a file pair by pair."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.text = file, text
        self.graphs: list[AttributedGraph] = []
        self.open = [""]  # the enclosing graph, node or edge
        self.depth = 0  # nesting depth inside a list that is ignored
        self.values: Values = {}  # of the current node or edge
        self.began = 0  # its line
        self.called: str | None = None  # the label of the current node
        self._line, self._at = 1, 0

    def read(self) -> list[AttributedGraph]:
        for match in _PAIR.finditer(self.text):
            kind = match.lastgroup
            if kind == "list":
                self._begin(match)
            elif kind == "end":
                self._end(match)
            elif kind == "wrong":
                rest = self.text[match.start("wrong") :][:100].partition("\n")[0]
                why = f"{shown(rest)} is not a key with a number, a string or a list; correct it"
                raise self._refusal(match, "wrong", why)
            elif kind is not None and not self.depth:
                self._keep(match, kind)
        if self.depth or len(self.open) > 1:
            raise self._refusal(match, 0, "the file ends inside a list; add the missing ] or download it again")
        return self.graphs

    def _line_of(self, match: re.Match[str], group: str | int) -> int:
        """Return the line on which a group of the match begins; must be called in the order of the file."""
        at = match.start(group) if group else match.end()
        self._line, self._at = self._line + self.text.count("\n", self._at, at), at
        return self._line

    def _refusal(self, match: re.Match[str], group: str | int, why: str) -> DataError:
        return refusal(self.file, self._line_of(match, group), why)

    def _begin(self, match: re.Match[str]) -> None:
        key = match["key"]
        if self.depth or key not in _AROUND:
            self.depth += 1
            return
        if _AROUND[key] != self.open[-1]:
            place = f"inside a {self.open[-1]}" if self.open[-1] else "outside of a graph"
            raise self._refusal(match, "key", f"a {key} {place}; check for a missing or superfluous ] before it")
        line = self._line_of(match, "key")
        self.open.append(key)
        if key == "graph":
            self.graphs.append(AttributedGraph(self.file, line))
        else:
            self.values, self.began, self.called = {}, line, None

    def _end(self, match: re.Match[str]) -> None:
        if self.depth:
            self.depth -= 1
            return
        kind = self.open.pop()
        if kind == "node":
            self.graphs[-1].add_node(self._integer("node", "id"), self.values, self.began, called=self.called)
        elif kind == "edge":
            source, target = self._integer("edge", "source"), self._integer("edge", "target")
            self.values.pop("id", None)
            self.graphs[-1].add_edge(source, target, True, self.values, self.began)
        elif kind == "graph":
            self._end_graph(self.graphs[-1])
        else:
            raise self._refusal(match, "end", "this ] closes nothing; remove it")

    def _end_graph(self, graph: AttributedGraph) -> None:
        directed = graph.values.get("directed", 0)
        if directed not in (0, 1):
            line = graph.itself.lines[0]
            raise refusal(self.file, line, f"the graph has directed {shown(directed)}; write 0 or 1")
        if directed:
            graph.both = [False] * len(graph.both)
        if graph.values.get("multigraph") == 1:
            for values in graph.edges.values:
                values.pop("key", None)

    def _keep(self, match: re.Match[str], kind: str) -> None:
        """Store a number or a string of a graph, node or edge."""
        key, around = match["key"], self.open[-1]
        if key in _AROUND:
            raise self._refusal(match, "key", f"{key!r} is not followed by a list; correct it")
        if not around or key == "comment":
            return
        if key == "label" and around != "edge":
            self._name(match)
            return
        values = self.graphs[-1].values if around == "graph" else self.values
        if key in values:
            why = f"{key!r} occurs twice in one {around}; keep one, or use different keys"
            raise self._refusal(match, "key", why)
        values[key] = self._number(match) if kind == "number" else _ENTITY.sub(_unescaped, match["text"])

    def _name(self, match: re.Match[str]) -> None:
        """Store the label of a node or graph; the last one counts."""
        name = match["number"] or _ENTITY.sub(_unescaped, match["text"])
        if self.open[-1] == "node":
            self.called = name
        else:
            self.graphs[-1].name = name

    def _number(self, match: re.Match[str]) -> Value:
        number = match["number"]
        try:
            return read_integer(number) if number.lstrip("+-").isdigit() else read_real(number)
        except ValueError as error:
            raise self._refusal(match, "number", f"{match['key']!r}: {error}; correct it") from None

    def _integer(self, kind: str, name: str) -> int:
        value = self.values.pop(name, None)
        if not isinstance(value, int):
            found = f"without {name!r}" if value is None else f"whose {name} {shown(value)} is not an integer"
            raise refusal(self.file, self.began, f"{kind} {found}; add one")
        return value


def _unescaped(match: re.Match[str]) -> str:
    return html.unescape(match[0])
