"""GML files as they should be, as NetworkX writes them, and as they should not be."""

import re
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.formats import graph_files
from nmrgcl.data.formats.gml import parse_gml, read_gml
from nmrgcl.errors import DataError
from tests.data.formats.random_networkx import KINDS, plain, random_graph
from tests.data.formats.slow_attributed import check


def read(text: str | bytes, **options: Any) -> Dataset:
    content = text if isinstance(text, bytes) else text.encode()
    return graph_files.read_contents([("a.gml", content)], "source", parse_gml, **options)


def message(text: str | bytes) -> str:
    with pytest.raises(DataError) as caught:
        read(text)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 250
    return str(caught.value)


TINY = """# A path of three nodes
Creator "by hand"
graph
[
  directed 1
  y "caf&#233; &amp; bar"
  label "not a class"
  node [ id 7 label "first" x 1.5 n 3 graphics [ x 10.0 y 2 [ ] ] ]
  node [ id 3 label 12 x -2E-1 n 4 ]   # a comment
  node [ id 5 x .5 n +5 ]
  edge [ source 7 target 3 weight 2.0 label 4 id 9 ]
  edge
  [
    source 3
    target 5
    label 5
  ]
]
""".replace("[ x 10.0 y 2 [ ] ]", "[ x 10.0 y 2 inner [ ] ]")


def test_a_tiny_file_is_read() -> None:
    data = read(TINY, keep_directions=True, name="tiny")
    assert (data.name, data.source, data.level, data.classes) == ("tiny", "source", "graph", ("café & bar",))
    assert data.graphs.edge_index.tolist() == [[0, 1], [1, 2]]
    assert data.graphs.edge_weight is not None
    assert data.graphs.edge_weight.tolist() == [2, 1]
    expected = np.array([[1.5, 3], [-0.2, 4], [0.5, 5]], np.float32)
    assert np.array_equal(data.node_attributes, expected)  # type: ignore[arg-type]
    assert data.edge_labels is not None
    assert data.edge_labels.tolist() == [[4], [5]]
    assert data.node_labels is data.edge_attributes is None
    assert read(TINY).graphs.symmetric


@pytest.mark.parametrize(
    "dress",
    [
        lambda t: t.replace("\n", "\r\n"),
        lambda t: t.replace("\n", "\r"),
        lambda t: "\ufeff" + t,
        lambda t: re.sub(r"([\[\]])", '#\n\\1\n# [ ] "\n\n', t),
        lambda t: t.replace(" [", "["),
        lambda t: t.replace("&#233;", "é").replace("&amp;", "&#x26;"),
    ],
    ids=["crlf", "cr", "byte order mark", "comments", "tight", "utf-8"],
)
def test_layout_and_encoding_do_not_matter(dress: Any) -> None:
    plain_, dressed = read(TINY), read(dress(TINY))
    assert plain_.classes == dressed.classes
    assert plain_.graphs.edge_index.tolist() == dressed.graphs.edge_index.tolist()
    assert np.array_equal(plain_.node_attributes, dressed.node_attributes)  # type: ignore[arg-type]


def test_several_graphs_and_edges_before_nodes() -> None:
    data = read("graph [ y 1 edge [ source 0 target 1 ] node [ id 0 ] node [ id 1 ] ] graph [ y 0 node [ id 0 ] ]")
    assert data.graphs.node_ptr.tolist() == [0, 2, 3]
    assert data.graphs.edge_index.tolist() == [[1, 0], [0, 1]]
    assert data.classes == (0, 1)


@pytest.mark.parametrize("text", ["&nosuch;", "&", "&;", "&#;", "&#x;", "&amp", "&#99999999999;"])
def test_what_is_no_entity_stays(text: str) -> None:
    assert read(f'graph [ y "{text}" ]').classes == (text,)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("keep_directions", [False, True])
def test_what_networkx_writes_is_read(kind: Any, keep_directions: bool) -> None:
    for seed in range(60):
        graph = random_graph(kind, seed, y=seed % 2 == 0)
        data = read("\n".join(nx.generate_gml(graph)), keep_directions=keep_directions)
        expected = plain(graph)
        for _, _, values, _ in expected.edges:
            values["label"] = str(values["label"])  # NetworkX writes every label as text
        check([expected], data, keep_directions=keep_directions)


def test_a_folder_is_read_in_natural_order(tmp_path: Path) -> None:
    for i in (10, 9, 2):
        (tmp_path / f"g{i}.gml").write_text(f"graph [ y {i} node [ id 0 ] ]")
    (tmp_path / "notes.txt").write_text("nothing")
    (tmp_path / ".g3.gml").write_text("hidden")
    data = read_gml(tmp_path)
    assert (data.name, data.source) == (tmp_path.name, str(tmp_path))
    assert [data.classes[code] for code in data.y] == [2, 9, 10]  # type: ignore[union-attr]
    assert read_gml(tmp_path / "g9.gml").name == "g9"
    assert read_gml(tmp_path, name="other").name == "other"
    (tmp_path / "g4.gml").write_text("graph [\nnode [ ] ]")
    with pytest.raises(DataError, match=r"^g4.gml, line 2: node without 'id'; add one$"):
        read_gml(tmp_path)


def test_places_without_a_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"contains no \.gml file"):
        read_gml(tmp_path)
    with pytest.raises(DataError, match=r"nosuch\.gml: cannot be read"):
        read_gml(tmp_path / "nosuch.gml")
    (tmp_path / "a.gml").mkdir()
    with pytest.raises(DataError, match=r"a\.gml: cannot be read \(Is a directory\)"):
        read_gml(tmp_path)


def test_odd_file_names_stay_on_one_line(tmp_path: Path) -> None:
    (tmp_path / "a\nb.GML").write_text("?")
    with pytest.raises(DataError, match=r"^a\\nb\.GML, line 1: '\?' is not a key"):
        read_gml(tmp_path)


def test_files_beyond_the_limit_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_files, "MAX_BYTES", 40)
    for i in range(2):
        (tmp_path / f"{i}.gml").write_text("graph [ node [ id 0 ] ]")
    assert read_gml(tmp_path / "0.gml").graphs.num_nodes == 1
    with pytest.raises(DataError, match=r"1\.gml: exceeds the limit"):
        read_gml(tmp_path)


NODES = "graph [\nnode [ id 0 ]\nnode [ id 1 ]\n"
WRONG = [
    ("", "source: contains no graph"),
    ('Creator "x" list [ graph [ ] ]', "source: contains no graph"),
    (NODES + "node [ id 1 ] ]", "line 4: node id 1 occurs twice"),
    (NODES + "node [ name 1 ] ]", "line 4: node without 'id'"),
    (NODES + 'node [\n id "a" ] ]', "line 4: node whose id 'a' is not an integer"),
    (NODES + "node [ id 1.0 ] ]", "line 4: node whose id 1.0 is not an integer"),
    (NODES + "edge [ source 0 ] ]", "line 4: edge without 'target'"),
    (NODES + "edge [ source 0 target 2 ] ]", "line 4: an edge refers to node 2, which does not exist"),
    (NODES + "directed 2 ]", "line 1: the graph has directed 2; write 0 or 1"),
    (NODES + 'directed "1" ]', "line 1: the graph has directed '1'"),
    (NODES + "directed 1\ndirected 0 ]", "line 5: 'directed' occurs twice in one graph"),
    (NODES + "node [ id 2\nx 1\nx 2 ] ]", "line 6: 'x' occurs twice in one node"),
    (NODES + "node [ id 2\ngraph [ ] ] ]", "line 5: a graph inside a node"),
    (NODES + "node [ id 2\nnode [ id 3 ] ]", "line 5: a node inside a node"),
    (NODES + "\ngraph [ ] ]", "line 5: a graph inside a graph"),
    ("graph [ ]\nnode [ id 0 ]", "line 2: a node outside of a graph"),
    (NODES + "edge 5 ]", "line 4: 'edge' is not followed by a list"),
    (NODES + "]\n]", "line 5: this ] closes nothing"),
    (NODES + "node [\nid 4\n", "line 6: the file ends inside a list"),
    (NODES + "x [", "line 4: the file ends inside a list"),
    (NODES + 'a "never\nends ]', "line 4: 'a \"never' is not a key with"),
    (NODES + "x NaN ]", "line 4: 'x NaN ]' is not a key with a number, a string or a list"),
    (NODES + "x [ a NaN ] ]", "line 4: 'a NaN ] ]' is not a key"),
    (NODES + "x ]", "line 4: 'x ]' is not a key"),
    (NODES + "5 x ]", "line 4: '5 x ]' is not a key"),
    (NODES + 'x 1"a" ]', "line 4: 'x 1\"a\" ]' is not a key"),
    (NODES + 'x "a"1 ]', "line 4: 'x \"a\"1 ]' is not a key"),
    (NODES + "x-1 ]", "line 4: 'x-1 ]' is not a key"),
    (NODES + "x 1_0 ]", "line 4: 'x': '1_0' is not"),
    (NODES + "x\n\n0x10 ]", "line 6: 'x': '0x10' is not"),
    (NODES + "x +INF ]", "line 4: 'x': '+INF' is not a finite number"),
    (NODES + "x 9223372036854775808 ]", "line 4: 'x': 9223372036854775808 does not fit 64 bits"),
    (NODES + f"x {'9' * 100_000} ]", "does not fit 64 bits"),
    (NODES + "x -1e39 ]", "line 4: 'x': '-1e39' does not fit a 32-bit float"),
    (NODES + "x 1.2.3 ]", "line 4: 'x': '1.2.3' is not a finite number"),
    (NODES + "node [ id 2 x 1 ] ]", "line 2: this node has no number for the attribute 'x'"),
    (NODES + "edge [ source 0 target 1\nweight 0 ] ]", "line 4: weight 0 is not a positive 32-bit float"),
    (NODES.encode() + b'x "\xff" ]', "line 4: byte 0xff is neither ASCII nor UTF-8"),
    (NODES + "\x00 ]", r"line 4: '\x00 ]' is not a key"),
    (NODES + "x\u00a01 ]", r"line 4: 'x\xa01 ]' is not a key"),
]


@pytest.mark.parametrize(("text", "expected"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_named_with_its_line(text: str | bytes, expected: str) -> None:
    assert expected in message(text)


def test_deep_nesting_and_long_texts_are_read_in_linear_time() -> None:
    depth = 200_000
    assert read("a [ " * depth + "] " * depth + "graph [ node [ id 0 ] ]").graphs.num_nodes == 1
    assert "the file ends inside a list" in message("graph [ " + "a [" * depth)
    assert "a graph inside a graph" in message("graph [ " * depth)
    assert "is not a key" in message("graph [" + " \n# c\n" * depth + "!")
    assert "is not a key" in message("x" * depth)
    assert "is not a key" in message('graph [ y "' + "x" * depth)
    assert "is not" in message("graph [ y " + "1" * depth + "x ]")
