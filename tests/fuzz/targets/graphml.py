"""GraphML, against the tree of ``xml.etree`` and against NetworkX."""

import io
import warnings
from typing import Any
from xml.etree import ElementTree

from networkx.readwrite.graphml import GraphMLReader

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.formats.graph_files import read_contents
from nmrgcl.data.formats.graphml import parse_graphml
from tests.data.formats.slow_attributed import Plain, check
from tests.fuzz.target import Files, Target


def read(files: Files) -> Dataset:
    return read_contents(files.items(), "mutated", parse_graphml)


def agree(files: Files, data: Dataset) -> None:
    graphs = []
    for content in files.values():
        try:
            bare, filled = plain_graphs(content)
        except ElementTree.ParseError:
            assert b"}" in content  # with which it separates names from namespaces
            return
        same_as_networkx(content, bare)
        graphs += filled
    check(graphs, data)


def plain_graphs(content: bytes) -> tuple[list[Plain], list[Plain]]:
    """The graphs of a file, without and with what keys give by default."""
    root = ElementTree.fromstring(content)
    space = root.tag.removesuffix("graphml")
    keys = {key.get("id"): key for key in root if key.tag == f"{space}key"}
    defaults = [(key, default) for key in keys.values() for default in key if default.tag == f"{space}default"]
    elements = [element for element in root if element.tag == f"{space}graph"]
    return [plain_graph(e, space, keys, []) for e in elements], [
        plain_graph(e, space, keys, defaults) for e in elements
    ]


def plain_graph(element: Any, space: str, keys: dict[Any, Any], defaults: list[tuple[Any, Any]]) -> Plain:
    def values(kind: str, holder: Any) -> dict[str, Any]:
        given = [value(keys[data.get("key")], data) for data in holder if data.tag == f"{space}data"]
        given += [value(key, default) for key, default in defaults if key.get("for", "all") in (kind, "all")]
        first: dict[str, Any] = {}
        for name, found in given:
            if name is not None:
                first.setdefault(name, found)
        return first

    graph = Plain(values("graph", element))
    for child in element:
        assert child.tag.removeprefix(space) not in ("graph", "hyperedge", "port")
        if child.tag == f"{space}node":
            assert child.get("id") not in graph.nodes
            graph.nodes[child.get("id")] = values("node", child)
        if child.tag == f"{space}edge":
            assert not {"sourceport", "targetport"} & set(child.keys())
            directed = child.get("directed", {"directed": "true", "undirected": "false"}[element.get("edgedefault")])
            both = {"true": False, "1": False, "false": True, "0": True}[directed]
            graph.edges.append((child.get("source"), child.get("target"), values("edge", child), both))
    return graph


def value(key: Any, element: Any) -> tuple[str | None, Any]:
    """Name and value, the name None where there is no value."""
    kind = key.get("attr.type", "string")
    if not element.text or len(element) or key.get("attr.name") is None:
        return None, None
    if kind == "string":
        return key.get("attr.name"), element.text
    text = element.text.strip(" \t\r\n")
    if kind == "boolean":
        return key.get("attr.name"), {"true": True, "1": True, "false": False, "0": False}[text.lower()]
    assert "_" not in text
    return key.get("attr.name"), int(text) if kind in ("int", "integer", "long") else float(text)


def same_as_networkx(content: bytes, graphs: list[Plain]) -> None:
    """Where NetworkX reads the file too, it finds the same nodes, edges and attributes; it knows no defaults."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            others = list(GraphMLReader(force_multigraph=True, edge_key_type=str)(path=io.BytesIO(content)))
    except Exception:
        return
    if not others:  # NetworkX insists on the namespace
        return
    assert len(others) == len(graphs)
    drawn = b":" in content.replace(b"http:", b"")  # of what yEd draws NetworkX makes attributes
    for other, graph in zip(others, graphs, strict=True):
        assert list(other) == list(graph.nodes)
        ends = {(u, v) for u, v, *_ in graph.edges}
        found = set(other.edges())
        assert found | {(v, u) for u, v in found} == ends | {(v, u) for u, v in ends}
        if other.is_directed():
            assert found == ends
        for name, values in graph.nodes.items():
            assert drawn or {k: v for k, v in other.nodes[name].items() if v != "" and k is not None} == values


NAMESPACE = b'xmlns="http://graphml.graphdrawing.org/xmlns"'
EVERYTHING = (
    b"<graphml "
    + NAMESPACE
    + b"""><desc>d</desc>
<key id="a" for="node" attr.name="f" attr.type="double"><default>.5</default></key>
<key id="b" for="node" attr.name="b" attr.type="boolean"/>
<key id="c" attr.name="label" attr.type="int"/>
<key id="w" for="edge" attr.name="weight" attr.type="float"/>
<key id="y" for="node" attr.name="y" attr.type="string"/>
<graph edgedefault="directed">
<node id="n"><data key="b">true</data><data key="c">1</data><data key="y">A</data></node>
<edge source="m" target="n"><data key="w">2</data><data key="c">7</data></edge>
<edge source="n" target="m"><data key="c">8</data></edge>
<node id="m"><data key="a">-1e2</data><data key="b">0</data><data key="c">2</data></node>
</graph></graphml>"""
)
TWO = (
    b"<graphml "
    + NAMESPACE
    + b""" xmlns:y="u">
<key id="y" for="graph" attr.name="y" attr.type="long"/><key id="s" for="all" attr.name="s"/>
<graph edgedefault="undirected"><data key="y">3</data><node id="0"/>
<node id="1"><data key="s"><y:S>1</y:S></data></node>
<edge source="0" target="1"/><edge source="1" target="0" id="e"/></graph>
<graph edgedefault="undirected"><data key="y">-1</data><node id="0"/><!-- c --></graph>
</graphml>"""
)
BARE = b"""<?xml version="1.0" encoding="UTF-8"?>
<graphml><key id="x" for="edge" attr.name="x" attr.type="int"/>
<graph edgedefault="undirected"><node id="a"/><node id="b"/><node id="c"/>
<edge source="a" target="b" directed="true"><data key="x"> 4 </data></edge>
<edge source="c" target="b"><data key="x">5</data></edge></graph></graphml>"""
TARGET = Target(
    name="graphml",
    examples=({"a.graphml": EVERYTHING}, {"a.graphml": TWO}, {"a.graphml": BARE, "b.graphml": BARE}),
    tokens=(
        *(
            b"<node id='z'/>",
            b"<edge source='0' target='1'/>",
            b"<graph edgedefault='directed'>",
            b"</graph>",
            b"</node>",
        ),
        *(b"<data key='a'>1</data>", b"<data key='y'>", b"</data>", b"<port/>", b"<hyperedge/>", b"<desc/>", b"<y:Z/>"),
        *(b"<!DOCTYPE a>", b"<!ENTITY e 'x'>", b"&e;", b"&amp;", b"&#49;", b"<![CDATA[1]]>", b"<!-- -->", b"<?p?>"),
        *(b" directed='false'", b' directed="true"', b"for='edge'", b"int", b"double", b"string", b"boolean", b"long"),
        *(
            b"<",
            b">",
            b"/>",
            b'"',
            b" ",
            b"\n",
            b"\x00",
            b"\xff",
            b"\xef\xbb\xbf",
            "é".encode(),
            b"label",
            b"weight",
            b"y",
        ),
    ),
    read=read,
    agree=agree,
)
