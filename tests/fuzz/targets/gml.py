"""GML, against a reading character by character and against NetworkX."""

import html
import io
import math
import warnings
from typing import Any

import networkx

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.formats.gml import parse_gml
from nmrgcl.data.formats.graph_files import read_contents
from tests.data.formats.slow_attributed import Plain, check
from tests.fuzz.target import Files, Target


def read(files: Files) -> Dataset:
    return read_contents(files.items(), "mutated", parse_gml)


def agree(files: Files, data: Dataset) -> None:
    graphs = []
    for content in files.values():
        found = plain_graphs(content)
        same_as_networkx(content, found)
        graphs += found
    check(graphs, data)


def tokens(text: str) -> list[str]:
    """Brackets, words and strings; a string keeps its first quote to be told apart."""
    found: list[str] = []
    state = " "
    for character in text + "\n":
        if state == '"':
            if character == '"':
                state = " "
            else:
                found[-1] += character
        elif state == "#":
            state = " " if character in "\r\n" else "#"
        elif character in '#"[]':
            state = character if character in '#"' else " "
            found += [character] * (character != "#")
        elif character in " \t\n\r\v\f":
            state = " "
        elif state == "w":
            found[-1] += character
        else:
            state = "w"
            found.append(character)
    assert state == " "
    return found


def plain_graphs(content: bytes) -> list[Plain]:
    return [plain_graph(found) for key, found in pairs(iter(tokens(content.decode("utf-8-sig")))) if key == "graph"]


def pairs(words: Any) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key in words:
        if key == "]":
            break
        assert key.replace("_", "").isalnum()
        word = next(words)
        found.append((key, pairs(words) if word == "[" else word))
    return found


def plain_graph(content: list[tuple[str, Any]]) -> Plain:
    graph = Plain(values(content, "label"))
    both = graph.values.pop("directed", 0) == 0
    many = graph.values.pop("multigraph", 0) == 1
    for key, inner in content:
        if key == "node":
            node = values(inner, "label")
            assert node["id"] not in graph.nodes
            graph.nodes[node.pop("id")] = node
        elif key == "edge":
            edge = values(inner)
            edge.pop("id", None)
            if many:
                edge.pop("key", None)
            graph.edges.append((edge.pop("source"), edge.pop("target"), edge, both))
    return graph


def values(content: list[tuple[str, Any]], *unused: str) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for key, word in content:
        assert key not in ("node", "edge", "graph") or isinstance(word, list)
        if isinstance(word, str) and key not in ("comment", *unused):
            assert key not in given
            given[key] = unescaped(word[1:]) if word[0] == '"' else number(word)
    return given


def number(word: str) -> float:
    assert "_" not in word
    value = int(word) if word.lstrip("+-").isdigit() else float(word)
    assert math.isfinite(value)
    return value


def unescaped(text: str) -> str:
    pieces = text.split("&")
    for i, piece in enumerate(pieces[1:], 1):
        name, semicolon, rest = piece.partition(";")
        pieces[i] = html.unescape(f"&{name};") + rest if semicolon and is_entity(name) else f"&{piece}"
    return "".join(pieces)


def is_entity(name: str) -> bool:
    if name.startswith(("#x", "#X")):
        return 2 < len(name) < 11 and set(name[2:].lower()) <= set("0123456789abcdef")
    if name.startswith("#"):
        return 1 < len(name) < 10 and set(name[1:]) <= set("0123456789")
    return name.isascii() and name.isalnum() and name[0].isalpha()


def same_as_networkx(content: bytes, graphs: list[Plain]) -> None:
    """Where NetworkX reads the file too, it finds the same nodes, edges and attributes."""
    if (
        len(graphs) != 1
    ):  # it reads one graph a file; of two it may overlook one whose comment ends in a line of its own
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            other = networkx.read_gml(io.BytesIO(content), label="id")
    except Exception:
        return
    (graph,) = graphs
    assert list(other) == list(graph.nodes)
    assert other.number_of_edges() == len(graph.edges)
    assert all(other.has_edge(source, target) for source, target, *_ in graph.edges)
    assert all(both != other.is_directed() for *_, both in graph.edges)
    for name, expected in graph.nodes.items():
        scalars = {k: v for k, v in other.nodes[name].items() if not isinstance(v, dict | list | tuple)}
        scalars = {k: v for k, v in scalars.items() if k not in ("label", "comment")}
        assert {k: v for k, v in expected.items() if not isinstance(v, str)} == {
            k: v for k, v in scalars.items() if not isinstance(v, str)
        }


EVERYTHING = b"""Creator "me" Version 1 # c
graph [ directed 1 label "g"
node [ id 1 label "a" f 1.5 b 0 y "&lt;A&#62;" graphics [ x 1 l [ ] ] ]
node [ id 2 f -2 b 1 y "B" ]
edge [ source 1 target 2 weight .5 label 7 ]
edge [ source 2 target 1 label 8 id 3 ]
]
"""
TWO = b"""graph [ y 3 directed 0 multigraph 1
node[ id 0 label 4 ]
node[ id -5 ]
edge [ source 0 target -5 key 0 ]
edge [ source -5 target 0 key 1 ] ]
graph [ y 4 node [ id 0 comment "c" comment "d" ] ]"""
BARE = b"""graph [
edge [ source 1 target 2 x 1E2 ]
node [ id 1 ]
node [ id 2 ]
edge [ source 1 target 1 x +3. ]
]"""
TARGET = Target(
    name="gml",
    examples=({"a.gml": EVERYTHING}, {"a.gml": TWO}, {"a.gml": BARE}, {"a.gml": BARE, "b.gml": BARE}),
    tokens=(
        *(
            b" node [ id 9 ] ",
            b" edge [ source 1 target 2 ] ",
            b" graph [ ",
            b" directed 1 ",
            b" multigraph 1 ",
            b" y 1 ",
        ),
        *(
            b" f 2 ",
            b" weight 2 ",
            b" label 5 ",
            b' label "q" ',
            b' text "t" ',
            b" key 0 ",
            b" comment 1 ",
            b" list [ ] ",
        ),
        *(
            b"[",
            b"]",
            b" ] ",
            b'"',
            b"#",
            b" # c\n",
            b" ",
            b"\n",
            b"\r",
            b"\r\n",
            b"\t",
            b"\x0c",
            b"\x0b",
            b"&amp;",
            b"&",
            b";",
        ),
        *(
            b"e",
            b".",
            b"-",
            b"+",
            b"_",
            b"id",
            b"NAN",
            b"+INF",
            b"\x00",
            b"\xff",
            b"\xef\xbb\xbf",
            "é".encode(),
            b"\xc2\xa0",
        ),
    ),
    read=read,
    agree=agree,
)
