"""GraphML files as they should be, as NetworkX and yEd write them, and as they should not be."""

import io
import re
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.formats import graphml
from nmrgcl.data.formats.graph_files import read_contents
from nmrgcl.data.formats.graphml import parse_graphml, read_graphml
from nmrgcl.errors import DataError
from tests.data.formats.random_networkx import KINDS, plain, random_graph
from tests.data.formats.slow_attributed import check

NAMESPACE = 'xmlns="http://graphml.graphdrawing.org/xmlns"'


def read(text: str | bytes, **options: Any) -> Dataset:
    content = text if isinstance(text, bytes) else text.encode()
    return read_contents([("a.graphml", content)], "source", parse_graphml, **options)


def message(text: str | bytes) -> str:
    with pytest.raises(DataError) as caught:
        read(text)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 250
    return str(caught.value)


TINY = f"""<graphml {NAMESPACE}>
  <desc>A path of three <b>nodes</b></desc>
  <key id="d0" for="node" attr.name="x" attr.type="double"><default>0.25</default></key>
  <key id="d1" for="node" attr.name="flag" attr.type="boolean"/>
  <key id="d2" for="all" attr.name="label" attr.type="int"/>
  <key id="d3" for="edge" attr.name="weight" attr.type="float"/>
  <key id="d4" for="graph" attr.name="y"/>
  <graph id="G" edgedefault="directed">
    <data key="d4">café &amp; bar</data>
    <edge source="a" target="b"><data key="d3">2</data><data key="d2">5</data></edge>
    <node id="a"><data key="d1">true</data><data key="d2"> 7 </data><data key="d0">-1e2</data></node>
    <node id="b"><data key="d1">0</data><data key="d2">-8</data></node>
    <node id="c"><data key="d2">9</data><data key="d0"><![CDATA[1.5]]></data><data key="d1">TRUE</data></node>
    <edge source="b" target="c"><data key="d2">6</data></edge>
  </graph>
</graphml>
"""


def test_a_tiny_file_is_read() -> None:
    data = read(TINY, keep_directions=True, name="tiny")
    assert (data.name, data.source, data.level, data.classes) == ("tiny", "source", "graph", ("café & bar",))
    assert data.graphs.edge_index.tolist() == [[0, 1], [1, 2]]
    assert data.graphs.edge_weight is not None
    assert data.graphs.edge_weight.tolist() == [2, 1]
    assert np.array_equal(data.node_attributes, [[1, -100], [0, 0.25], [1, 1.5]])  # type: ignore[arg-type]
    assert np.array_equal(data.node_labels, [[7], [-8], [9]])  # type: ignore[arg-type]
    assert np.array_equal(data.edge_labels, [[5], [6]])  # type: ignore[arg-type]
    assert data.edge_attributes is None
    assert read(TINY).graphs.symmetric


@pytest.mark.parametrize(
    "dress",
    [
        lambda t: t.replace("\n", "\r\n"),
        lambda t: t.replace(NAMESPACE, ""),
        lambda t: re.sub(r"<(/?)(?=\w)", r"<\1g:", t).replace("xmlns=", "xmlns:g="),
        lambda t: t.replace("<node", "<!-- a <node> -->\n<?go on?><node"),
        lambda t: "\ufeff" + t,
        lambda t: t.encode("utf-16"),
        lambda t: b"<?xml version='1.0' encoding='ISO-8859-1'?>" + t.encode("latin-1"),
        lambda t: b"<?xml version='1.0' encoding='cp1252'?>" + t.encode("cp1252"),
    ],
    ids=["crlf", "no namespace", "prefix", "comments", "byte order mark", "utf-16", "latin-1", "cp1252"],
)
def test_layout_encoding_and_prefixes_do_not_matter(dress: Any) -> None:
    plain_, dressed = read(TINY), read(dress(TINY))
    assert plain_.classes == dressed.classes
    assert plain_.graphs.edge_index.tolist() == dressed.graphs.edge_index.tolist()
    assert np.array_equal(plain_.node_attributes, dressed.node_attributes)  # type: ignore[arg-type]


YED = f"""<?xml version="1.0" encoding="UTF-8" standalone="no"?>
<graphml {NAMESPACE} xmlns:y="http://www.yworks.com/xml/graphml" xmlns:yed="http://www.yworks.com/xml/yed/3">
  <key attr.name="Description" attr.type="string" for="graph" id="d0"/>
  <key for="port" id="d1" yfiles.type="portgraphics"/>
  <key attr.name="url" attr.type="string" for="node" id="d4"/>
  <key for="node" id="d6" yfiles.type="nodegraphics"/>
  <key for="graphml" id="d7" yfiles.type="resources"/>
  <key attr.name="size" attr.type="int" for="node" id="d8"/>
  <key for="edge" id="d10" yfiles.type="edgegraphics"/>
  <graph edgedefault="directed" id="G">
    <data key="d0" xml:space="preserve"/>
    <node id="n0">
      <data key="d4" xml:space="preserve"><![CDATA[http://a]]></data>
      <data key="d6"><y:ShapeNode><y:Geometry x="1"/><y:NodeLabel>one<y:LabelModel/></y:NodeLabel></y:ShapeNode></data>
      <data key="d8">4</data>
    </node>
    <node id="n1"><data key="d8">5</data></node>
    <edge id="e0" source="n0" target="n1"><data key="d10"><y:PolyLineEdge/></data></edge>
  </graph>
  <data key="d7"><y:Resources/></data>
</graphml>
"""


def test_what_yed_draws_is_passed_over() -> None:
    data = read(YED)
    assert np.array_equal(data.node_attributes, [[4], [5]])  # type: ignore[arg-type]
    assert data.graphs.edge_index.tolist() == [[1, 0], [0, 1]]
    assert data.y is data.node_labels is data.edge_attributes is None


def test_several_graphs_and_mixed_edges() -> None:
    graphs = [("undirected", ""), ("undirected", "directed='true'"), ("directed", "directed='false'")]
    text = "".join(
        f"<graph edgedefault='{default}'><node id='0'/><node id='1'/><edge source='0' target='1' {own}/></graph>"
        for default, own in graphs
    )
    data = read(f"<graphml>{text}</graphml>", keep_directions=True)
    assert data.graphs.edge_index.tolist() == [[1, 0, 2, 5, 4], [0, 1, 3, 4, 5]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("keep_directions", [False, True])
def test_what_networkx_writes_is_read(kind: Any, keep_directions: bool) -> None:
    for seed in range(60):
        graph = random_graph(kind, seed, y=seed % 2 == 0)
        stream = io.BytesIO()
        nx.write_graphml(graph, stream)
        data = read(stream.getvalue(), keep_directions=keep_directions)
        check([plain(graph)], data, keep_directions=keep_directions)


def test_a_folder_is_read_in_natural_order(tmp_path: Path) -> None:
    for i in (10, 9, 2):
        nx.write_graphml(nx.path_graph(i), tmp_path / f"g{i}.graphml")
    data = read_graphml(tmp_path)
    assert (data.name, data.source) == (tmp_path.name, str(tmp_path))
    assert data.graphs.node_ptr.diff().tolist() == [2, 9, 10]
    assert read_graphml(tmp_path / "g9.graphml").name == "g9"
    (tmp_path / "g4.graphml").write_text("<graphml>\n")
    with pytest.raises(DataError, match=r"^g4.graphml, line 2: is not well-formed XML \(no element found\)"):
        read_graphml(tmp_path)


HEAD = """<graphml>
<key id="f" for="node" attr.name="f" attr.type="double"/>
<key id="i" attr.name="i" attr.type="int"/>
<graph edgedefault="undirected">
<node id="a"/>
"""
TAIL = "</graph></graphml>"
IN_GRAPH = [
    ("<node id='a'/>", "node id 'a' occurs twice"),
    ("<node/>", "<node> without 'id'; add it"),
    ("<edge source='a'/>", "<edge> without 'target'; add it"),
    ("<edge source='a' target='b'/>", "an edge refers to node 'b', which does not exist"),
    ("<edge source='a' target='a' directed='maybe'/>", "directed 'maybe' must be one of true, false, 1, 0"),
    ("<edge source='a' target='a' sourceport='p'/>", "an edge ends at a port; ports are not supported"),
    ("<node id='b'><port name='p'/></node>", "'port' is not allowed inside 'node'; ports are not supported"),
    (
        "<node id='b'><graph edgedefault='directed'/></node>",
        "'graph' is not allowed inside 'node'; nested graphs are not supported",
    ),
    ("<graph edgedefault='directed'/>", "'graph' is not allowed inside 'graph'"),
    (
        "<hyperedge><endpoint node='a'/></hyperedge>",
        "'hyperedge' is not allowed inside 'graph'; hyperedges are not supported",
    ),
    ("<locator href='b.graphml'/>", "'locator' is not allowed inside 'graph'; other files are not read"),
    ("<nodes/>", "'nodes' is not allowed inside 'graph'; correct or remove it"),
    ("<node id='b'><node id='c'/></node>", "'node' is not allowed inside 'node'"),
    ("node id='b'/>\n\n", "text \"node id='b'/>\" between elements"),
    ("<node id='b'><data>1</data></node>", "<data> without 'key'"),
    ("<node id='b'><data key='z'>1</data></node>", "key 'z' is not declared"),
    ("<edge source='a' target='a'><data key='f'>1</data></edge>", "key 'f' is not declared for edges"),
    ("<node id='b'><data key='f'>1</data><data key='f'>2</data></node>", "'f': there is already a value"),
    ("<node id='b'><data key='f'>\n\n1_0</data></node>", "attribute 'f': '1_0' is not a finite number"),
    ("<node id='b'><data key='f'>nan</data></node>", "attribute 'f': 'nan' is not a finite number"),
    ("<node id='b'><data key='f'> </data></node>", "attribute 'f': '' is not a finite number"),
    ("<node id='b'><data key='f'>1<b/>2</data></node>", "attribute 'f': an element is not a number"),
    ("<node id='b'><data key='i'>1.0</data></node>", "attribute 'i': '1.0' is not an integer"),
    ("<node id='b'><data key='i'>0x1</data></node>", "attribute 'i': '0x1' is not an integer"),
    (f"<node id='b'><data key='i'>{2**63}</data></node>", "does not fit 64 bits"),
    (f"<node id='b'><data key='f'>{'9' * 100_000}</data></node>", "does not fit a 32-bit float"),
    ("<node id='b'></nod>", "is not well-formed XML (mismatched tag)"),
    ("<node id='b' id='c'/>", "is not well-formed XML (duplicate attribute)"),
    ("<y:node id='b'/>", "is not well-formed XML (unbound prefix)"),
    ("&nosuch;", "is not well-formed XML (undefined entity)"),
    ("\x00", "is not well-formed XML"),
]


@pytest.mark.parametrize(("element", "expected"), IN_GRAPH, ids=range(len(IN_GRAPH)))
def test_what_is_wrong_in_a_graph_is_named_with_its_line(element: str, expected: str) -> None:
    told = message(HEAD + element + "\n" + TAIL)
    assert told.startswith("a.graphml, line 6: ")
    assert expected in told


WRONG = [
    ("", "a.graphml, line 1: is not well-formed XML (no element found)"),
    ("<graphml>\n\n</graphml>", "source: contains no graph"),
    ("\n<html/>", "a.graphml, line 2: 'html' is not a known root element"),
    ("<graphml>\n<node id='a'/></graphml>", "a.graphml, line 2: 'node' is not allowed inside 'graphml'"),
    ("<graphml>\n<graph/></graphml>", "a.graphml, line 2: <graph> without 'edgedefault'"),
    ("<graphml>\n<graph edgedefault='both'/></graphml>", "edgedefault 'both' must be one of directed, undirected"),
    ("<graphml>\n<key/></graphml>", "a.graphml, line 2: <key> without 'id'"),
    ("<graphml><key id='a'/>\n<key id='a'/></graphml>", "a.graphml, line 2: key id 'a' is used twice"),
    ("<graphml>\n<key id='a' attr.type='int'/></graphml>", "a.graphml, line 2: <key> without 'attr.name'"),
    ("<graphml>\n<key id='a' for='nodes'/></graphml>", "for 'nodes' must be one of"),
    (
        "<graphml>\n<key id='a' attr.name='a' attr.type='list'/></graphml>",
        "attr.type 'list' must be one of boolean, int",
    ),
    (HEAD.replace('/>\n<key id="i', '><default>x</default></key>\n<key id="i') + TAIL, "line 2: attribute 'f': 'x' is"),
    (
        HEAD + "<node id='b'><data key='f'>1</data></node>" + TAIL,
        "line 5: this node has no number for the attribute 'f'",
    ),
    (b"<?xml version='1.0' encoding='nosuch'?><graphml/>", "a.graphml, line 1: "),
    (b"<?xml version='1.0' encoding='utf-7'?><graphml/>", "a.graphml, line 1: "),
    (b"<?xml version='1.0' encoding='hex'?><graphml/>", "a.graphml, line 1: "),
    (b"<graphml>\n\xff</graphml>", "a.graphml, line 2: is not well-formed XML (not well-formed (invalid token))"),
]


@pytest.mark.parametrize(("text", "expected"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_elsewhere_is_named_too(text: str | bytes, expected: str) -> None:
    assert expected in message(text)


LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 12))
BOMBS = [
    f'<!DOCTYPE graphml [<!ENTITY l0 "lol">{LAUGHS}]>\n<graphml><desc>&l11;</desc></graphml>',
    f'<!DOCTYPE graphml [<!ENTITY l0 "lol">{LAUGHS}]>\n<graphml a="&l11;"/>',
    '<!DOCTYPE graphml [<!ENTITY e SYSTEM "file:///etc/passwd">]>\n<graphml><desc>&e;</desc></graphml>',
    '<!DOCTYPE graphml SYSTEM "http://127.0.0.1:1/a.dtd">\n<graphml/>',
    '<!DOCTYPE graphml [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]>\n<graphml/>',
]


@pytest.mark.parametrize("text", BOMBS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be"])
def test_entities_are_refused_before_they_expand(text: str, encoding: str) -> None:
    told = message(("\n\n" * (encoding == "utf-8") + text).encode(encoding))
    assert told.startswith(f"a.graphml, line {3 if encoding == 'utf-8' else 1}: a DOCTYPE is not accepted")


def test_deep_nesting_and_long_ids_are_read() -> None:
    depth = 200_000
    deep = f"<desc>{'<a>' * depth}{'</a>' * depth}</desc>"
    long_ = "x" * 1_000_000
    data = read(f"<graphml>{deep}<graph edgedefault='directed'><node id='{long_}'/></graph></graphml>")
    assert data.graphs.num_nodes == 1
    assert "is not well-formed" in message("<graphml>" + "<desc>" * depth)
    assert "'graph' is not allowed inside 'graph'" in message("<graphml>" + "<graph edgedefault='directed'>" * depth)
    assert "node id 'xxx" in message(HEAD + f"<node id='{long_}'/>" * 2 + TAIL)


def test_defaults_do_not_take_memory_that_the_file_does_not_justify(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphml, "MAX_FILLED", 10)
    keys = "".join(f"<key id='{i}' attr.name='{i}' attr.type='int'><default>1</default></key>" for i in range(300))
    nodes = "".join(f"<node id='{i}'/>" for i in range(500))
    text = f"<graphml>{keys}\n<graph edgedefault='directed'>\n{nodes}</graph></graphml>"
    assert "line 3: 300 defaults for 500 nodes take too much memory" in message(text)
    few = read(text.replace(nodes, nodes[: nodes.index("<node id='100'")]))
    assert few.node_attributes is not None
    assert few.node_attributes.shape == (100, 300)
