"""Graphs as people write them, one a line; what is wrong is named by line, key and place."""

import gzip
import io
from pathlib import Path

import numpy as np
import pytest

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.files import archive
from nmrgcl.data.formats import jsonl, text
from nmrgcl.data.formats.jsonl import read_jsonl, read_jsonl_stream
from nmrgcl.errors import DataError


def read(*lines: str, keep_directions: bool = False) -> Dataset:
    return read_jsonl_stream(io.BytesIO("\n".join(lines).encode()), "g.jsonl", keep_directions=keep_directions)


def message(*lines: str) -> str:
    with pytest.raises(DataError) as caught:
        read(*lines)
    assert str(caught.value).isprintable()
    return str(caught.value)


def test_every_key_is_read() -> None:
    data = read(
        '{"edges": [[0, 1], [2, 1]], "x": [[1, 0.5], [1, 2], [3, 1e2]], "node_labels": [4, 5, 6],'
        ' "edge_attr": [0.5, 1.5], "edge_labels": [[1, 2], [3, 4]], "edge_weight": [2, 0.25], "y": "b"}',
        '{"edges": [], "num_nodes": 1, "x": [[0, 0]], "node_labels": [-1], "y": "a"}',
    )
    assert data.graphs.edge_index.tolist() == [[1, 0, 2, 1], [0, 1, 1, 2]]
    assert data.graphs.node_ptr.tolist() == [0, 3, 4]
    assert np.array_equal(data.node_attributes, np.array([[1, 0.5], [1, 2], [3, 100], [0, 0]], np.float32))  # type: ignore[arg-type]
    assert data.node_labels is not None
    assert data.node_labels.tolist() == [[4], [5], [6], [-1]]
    assert data.edge_attributes is not None
    assert data.edge_attributes.tolist() == [[0.5], [0.5], [1.5], [1.5]]
    assert data.edge_labels is not None
    assert data.edge_labels.tolist() == [[1, 2], [1, 2], [3, 4], [3, 4]]
    assert data.graphs.edge_weight is not None
    assert data.graphs.edge_weight.tolist() == [2, 2, 0.25, 0.25]
    assert (data.classes, data.graphs.y.tolist()) == (("a", "b"), [1, 0])  # type: ignore[union-attr]
    assert (data.name, data.source, data.level) == ("graphs", "g.jsonl", "graph")


def test_the_number_of_nodes_is_declared_or_listed_or_what_edges_name() -> None:
    data = read(
        '{"edges": [[0, 1]], "num_nodes": 5}',
        '{"edges": [[0, 2]]}',
        '{"edges": []}',
        '{"edges": [[1, 1]], "num_nodes": null}',
    )
    assert data.graphs.node_ptr.diff().tolist() == [5, 3, 0, 2]
    assert read('{"edges": [], "x": [1, 2, 3]}').graphs.num_nodes == 3
    assert read('{"edges": [], "node_labels": [1, 2]}').graphs.num_nodes == 2


def test_loops_repeats_and_directions_mean_what_they_mean_everywhere() -> None:
    lines = '{"edges": [[0, 1], [0, 1], [1, 1], [2, 1]], "edge_weight": [1, 2, 1, 4], "edge_labels": [7, 8, 9, 5]}'
    data = read(lines)
    assert data.graphs.edge_index.tolist() == [[1, 0, 2, 1], [0, 1, 1, 2]]
    assert data.graphs.edge_weight.tolist() == [3, 3, 4, 4]  # type: ignore[union-attr]
    assert data.edge_labels[:, 0].tolist() == [7, 7, 5, 5]  # type: ignore[index]
    assert (data.self_loops, data.duplicate_edges, data.one_way_edges) == (1, 1, 2)
    assert read(lines, keep_directions=True).graphs.edge_index.tolist() == [[0, 2], [1, 1]]


def test_labels_are_whole_numbers_or_text_and_may_be_missing() -> None:
    data = read('{"edges": [], "y": 7}', '{"edges": [], "y": null}', '{"edges": []}', '{"edges": [], "y": true}')
    assert (data.classes, data.y.tolist()) == ((1, 7), [1, -1, -1, 0])  # type: ignore[union-attr]
    assert read('{"edges": [], "y": 2.0}').classes == (2,)
    assert read('{"edges": []}').y is None
    assert read('{"edges": [], "y": null}').y.tolist() == [-1]  # type: ignore[union-attr]


def test_one_graph_may_have_classes_of_nodes() -> None:
    data = read('{"edges": [[0, 2]], "y": ["b", null, "a"]}')
    assert (data.level, data.classes, data.y.tolist()) == ("node", ("a", "b"), [1, -1, 0])  # type: ignore[union-attr]
    many = ('{"edges": [], "y": 1}', '{"edges": [[0, 1]], "y": [1, 2]}')
    assert "g.jsonl, line 2: y is a list of node classes, which is allowed only in a file of one graph" in message(
        *many
    )


def test_a_graph_without_nodes_or_edges_lists_nothing_about_them() -> None:
    data = read('{"edges": []}', '{"edges": [[0, 1]], "x": [1, 2], "edge_labels": [3]}', '{"edges": [], "x": []}')
    assert data.graphs.node_ptr.diff().tolist() == [0, 2, 0]
    assert data.edge_labels.tolist() == [[3], [3]]  # type: ignore[union-attr]


@pytest.mark.parametrize("ending", ["", "\n", "\n\n \r\n", "\r\n"])
@pytest.mark.parametrize("chunk", [1, 3, 20, 1 << 16])
def test_ends_of_lines_and_sizes_of_blocks_do_not_matter(
    monkeypatch: pytest.MonkeyPatch, chunk: int, ending: str
) -> None:
    monkeypatch.setattr(text, "CHUNK", chunk)
    data = read('\ufeff{"edges": [[0, 1]], "x": [1, 2]}\r', '{"edges": [], "x": [5]}' + ending)
    assert data.graphs.node_ptr.tolist() == [0, 2, 3]
    assert data.node_attributes.tolist() == [[1], [2], [5]]  # type: ignore[union-attr]
    assert "g.jsonl, line 3: x[1]: expected `float | array`, got `str`" in message(
        '{"edges": []}', '{"edges": []}', '{"edges": [], "x": [1, "a"]}'
    )
    assert "g.jsonl, line 2: is blank" in message('{"edges": []}', " ", "", '{"edges": []}')


GOOD = '{"edges": [[0, 1]], "x": [[1, 2], [3, 4]], "y": 1}'
WRONG = {
    "": "the file is empty",
    "[1]": "is not a graph (Expected `object`, got `array`)",
    '{"edges": [[0, 1]': "is not JSON (Input data was truncated); write one graph per line",
    '{"edges": []} {}': "is not JSON (JSON is malformed: trailing characters",
    '{"edges": [], "edge": 1}': "unknown key 'edge'; did you mean edges",
    '{"edges": [], "a\\nb": 1}': "unknown key 'a\\\\nb'; known: ",
    '{"num_nodes": 2}': "has no key edges",
    '{"edges": null}': "edges: expected `array`, got `null`",
    '{"edges": [[0, 1], [1]]}': "edges[1]: expected `array` of length 2",
    '{"edges": [[0, 1], 5]}': "edges[1]: expected `array`, got `int`",
    '{"edges": [[0, 1.0]]}': "edges[0][1]: expected `int`, got `float`",
    '{"edges": [[true, 1]]}': "edges[0][0]: expected `int`, got `bool`",
    '{"edges": [[0, 9223372036854775808]]}': "edges[0][1]: expected `int` <= 2147483647",
    '{"edges": [[0, 1], [-1, 0]]}': "edges[1][0]: expected `int` >= 0",
    '{"edges": [[0, 3]], "num_nodes": 3}': "edges[0] is [0, 3], but the graph has 3 nodes, counted from 0",
    '{"edges": [], "num_nodes": -1}': "num_nodes: expected `int` >= 0",
    '{"edges": [], "num_nodes": 1.0}': "num_nodes: expected `int | null`, got `float`",
    '{"edges": [[0, 2147483647]]}': "more than 10000000 in the file have no edge",
    '{"edges": [], "num_nodes": 10000001}': "with its 10000001 nodes",
    '{"edges": [], "num_nodes": 2, "x": [1]}': "x has 1 entries, but the graph has 2 nodes",
    '{"edges": [], "x": 5}': "x: expected `array | null`, got `int`",
    '{"edges": [], "x": {"a": 1}}': "x: expected `array | null`, got `object`",
    '{"edges": [], "x": [[1, 2], [3]]}': "x[1] is not a row of 2 numbers, as before",
    '{"edges": [], "x": [1, [3]]}': "x[1] is not a number, as before",
    '{"edges": [], "x": [[1, 2], [3, null]]}': "x[1][1]: expected `float`, got `null`",
    '{"edges": [], "x": [true]}': "x[0]: expected `float | array`, got `bool`",
    '{"edges": [], "x": [[]]}': "x[0] is not a number, as before",
    '{"edges": [], "x": [[[1]]]}': "x[0][0]: expected `float`, got `array`",
    '{"edges": [], "x": [NaN]}': "is not JSON (JSON is malformed: invalid character (byte 20))",
    '{"edges": [], "x": [-Infinity]}': "is not JSON (JSON is malformed: invalid character",
    '{"edges": [], "x": [1, 1e39]}': "x[1] contains a number that does not fit a 32-bit float",
    '{"edges": [], "x": [[1, 2], [3, 1e39]]}': "x[1] contains a number that does not fit a 32-bit float",
    '{"edges": [], "x": [1e999]}': "x[0]: number out of range",
    '{"edges": [], "node_labels": [1, 0.5]}': "node_labels[1]: expected `int | str | array`, got `float`",
    '{"edges": [], "node_labels": [9223372036854775808]}': "node_labels[0]: expected `int` <= 9223372036854775807",
    '{"edges": [[0, 1]], "edge_weight": [0]}': "edge_weight[0]: expected `float` > 0.0",
    '{"edges": [[0, 1]], "edge_weight": [1e-60]}': "edge_weight[0] contains a number that does not fit a 32-bit float",
    '{"edges": [[0, 1]], "edge_weight": [[1]]}': "edge_weight[0]: expected `float`, got `array`",
    '{"edges": [], "y": 0.5}': "y: 0.5 is not an integer; classes must be integers or text",
    '{"edges": [], "y": "\\ud800"}': "is not JSON",
    '{"edges": [], "y": ""}': "is not a class",
    '{"edges": [], "y": [1]}': "y: has 1 classes for 0 nodes",
    '{"edges": [], "y": 9223372036854775808}': "does not fit 64 bits",
    '{"edges": [], "y": ' + "1" * 5000 + "}": "y: integer value out of range",
    '{"edges": ' + "[" * 100_000 + "}": "edges[0][0]: expected `int`, got `array`",
    '{"edges": [], "y": ' + "[" * 100_000 + "}": "y[0]: expected `bool | int | float | str | null`, got `array`",
    '{"edges": [], "y": "\x00"}': "is not JSON (JSON is malformed: invalid character",
}


@pytest.mark.parametrize("line", WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_reported_in_a_line(line: str) -> None:
    assert WRONG[line] in message(line)
    assert message(line).startswith("g.jsonl, line 1: ")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"edges": [[0, 1]]}', "line 2: has no x, but line 1 does; add it to all graphs or none"),
        (
            '{"edges": [], "x": [[1, 2]], "edge_labels": [1]}',
            "line 2: edge_labels has 1 entries, but the graph has 0 edges",
        ),
        ('{"edges": [], "x": [[1, 2, 3]]}', "line 2: x[0] is not a row of 2 numbers, as before"),
        ('{"edges": [], "x": [1]}', "line 2: x[0] is not a row of 2 numbers, as before"),
        ('{"edges": [], "y": "a"}', "line 2: y is 'a' after labels that are numbers"),
        (
            '{"edges": [[0, 1]], "x": [[1, 2], [3, 4]], "edge_labels": [1]}',
            "line 1: has no edge_labels, but line 2 does",
        ),
    ],
)
def test_graphs_must_fit_together(line: str, expected: str) -> None:
    assert expected in message(GOOD, line, GOOD)


def test_bare_nodes_are_counted_over_the_whole_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "MAX_BARE", 10)
    line = '{"edges": [[0, 1]], "num_nodes": 6}'
    assert read(line, line).graphs.num_nodes == 12
    assert "line 3: with its 6 nodes, more than 10" in message(line, line, line)
    assert read('{"edges": [], "x": [' + ",".join("1" * 50) + "]}").graphs.num_nodes == 50


def test_files_are_plain_or_gzipped(tmp_path: Path) -> None:
    (tmp_path / "my.set.jsonl").write_text(GOOD)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(GOOD.encode()))
    assert read_jsonl(tmp_path / "my.set.jsonl").name == "my.set"
    assert read_jsonl(tmp_path / "b.jsonl.gz").name == "b"
    assert read_jsonl(tmp_path / "b.jsonl.gz", name="other").name == "other"


def test_files_that_cannot_be_read_are_reported_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(GOOD.encode() * 99)
    (tmp_path / "cut.gz").write_bytes(packed[:-9])
    (tmp_path / "latin").write_bytes(b'{"edges": []}\n{"edges": [], "y": "\xe4"}')
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b" " * 1_000_000))
    for name, expected in {
        "missing": "cannot be read",
        ".": "cannot be read \\(Is a directory\\)",
        "cut.gz": "cannot be unpacked",
        "latin": "line 2: contains the byte 228, which is not UTF-8",
    }.items():
        with pytest.raises(DataError, match=expected):
            read_jsonl(tmp_path / name)
    monkeypatch.setattr(archive, "ALWAYS_ALLOWED", 1000)
    with pytest.raises(DataError, match="unpacks to more than"):
        read_jsonl(tmp_path / "bomb.gz")
    monkeypatch.setattr(text, "MAX_LINE", 10)
    assert "line 1: is longer than 0 MiB" in message(GOOD)
