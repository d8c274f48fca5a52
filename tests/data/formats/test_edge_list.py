"""Edge lists in CSV: what columns mean, how graphs and nodes are numbered, and which line is wrong."""

import io
from pathlib import Path

import numpy as np
import pytest

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.formats import csv_file
from nmrgcl.data.formats.edge_list import read_edge_list, read_edge_list_streams
from nmrgcl.errors import DataError


def read(edges: str, nodes: str | None = None, graphs: str | None = None, keep_directions: bool = False) -> Dataset:
    sources = [
        None if content is None else (io.BytesIO(content.encode()), f"{name}.csv")
        for name, content in (("edges", edges), ("nodes", nodes), ("graphs", graphs))
    ]
    assert sources[0] is not None
    return read_edge_list_streams(sources[0], sources[1], sources[2], keep_directions=keep_directions)


def message(edges: str, nodes: str | None = None, graphs: str | None = None) -> str:
    with pytest.raises(DataError) as caught:
        read(edges, nodes, graphs)
    assert str(caught.value).isprintable()
    return str(caught.value)


EDGES = "graph,source,target,weight,label,length\nb,x,y,2,5,0.5\na,x,z,1,6,1.5\na,z,y,0.5,7,-2\n"
NODES = "graph,node,label,size\na,z,1,0.5\nb,x,2,1\na,x,3,1e1\nb,y,4,.5\na,y,5,-0\n"
GRAPHS = "graph,y\nc,no\na,yes\nb,\n"


def test_every_column_of_the_three_files_is_read() -> None:
    data = read(EDGES, NODES, GRAPHS)
    # Graphs in the order of graphs.csv: c (empty), a (z, x, y), b (x, y).
    assert data.graphs.node_ptr.tolist() == [0, 0, 3, 5]
    assert data.graphs.edge_index.tolist() == [[1, 2, 0, 0, 4, 3], [0, 0, 1, 2, 3, 4]]
    assert data.graphs.edge_weight.tolist() == [1, 0.5, 1, 0.5, 2, 2]  # type: ignore[union-attr]
    assert data.edge_labels.tolist() == [[6], [7], [6], [7], [5], [5]]  # type: ignore[union-attr]
    assert data.edge_attributes.tolist() == [[1.5], [-2], [1.5], [-2], [0.5], [0.5]]  # type: ignore[union-attr]
    assert data.node_labels.tolist() == [[1], [3], [5], [2], [4]]  # type: ignore[union-attr]
    assert np.array_equal(data.node_attributes, np.array([[0.5], [10], [0], [1], [0.5]]))  # type: ignore[arg-type]
    assert (data.classes, data.y.tolist()) == (("no", "yes"), [0, 1, -1])  # type: ignore[union-attr]
    assert (data.name, data.source, data.level) == ("graphs", "edges.csv", "graph")


def test_edges_alone_name_graphs_and_nodes_as_they_come() -> None:
    data = read("graph,source,target\nb,3,1\na,1,2\nb,1,7\n")
    assert data.graphs.node_ptr.tolist() == [0, 3, 5]
    assert data.graphs.edge_index.tolist() == [[1, 0, 2, 1, 4, 3], [0, 1, 1, 2, 3, 4]]
    assert data.y is None
    assert read("source,target\n5,9\n").graphs.num_graphs == 1


def test_loops_repeats_and_directions_mean_what_they_mean_everywhere() -> None:
    text = "source,target,weight,label\n0,1,1,7\n0,1,2,8\n1,1,1,9\n2,1,4,5\n"
    data = read(text)
    assert data.graphs.edge_index.tolist() == [[1, 0, 2, 1], [0, 1, 1, 2]]
    assert data.graphs.edge_weight.tolist() == [3, 3, 4, 4]  # type: ignore[union-attr]
    assert data.edge_labels[:, 0].tolist() == [7, 7, 5, 5]  # type: ignore[index]
    assert (data.self_loops, data.duplicate_edges, data.one_way_edges) == (1, 1, 2)
    assert read(text, keep_directions=True).graphs.edge_index.tolist() == [[0, 2], [1, 1]]


def test_identifiers_are_integers_if_all_are() -> None:
    assert read("source,target\n1,02\n2,+3\n").graphs.num_nodes == 3
    assert read("source,target\n1,02\n2,x\n").graphs.num_nodes == 4
    assert read("source,target\n9223372036854775808,1\n01,2\n").graphs.num_nodes == 4
    assert read("graph,source,target\n1,1,2\n01,2,3\n").graphs.node_ptr.tolist() == [0, 3]


def test_nodes_of_one_graph_may_have_classes() -> None:
    data = read("src,dst\nx,y\n", "node_id,y\ny,1\nz,\nx,-2.0\n")
    assert (data.level, data.classes, data.y.tolist()) == ("node", (-2, 1), [1, -1, 0])  # type: ignore[union-attr]
    assert data.graphs.edge_index.tolist() == [[2, 0], [0, 2]]


@pytest.mark.parametrize(
    "edges",
    [
        "Source,Target\na,b\n",
        "from,to\r\na,b\r\n\r\n",
        "\ufeffsrc , dst\n a , b ",
        '"source", "target"\n"a","b"\n',
        "target,source\nb,a",
    ],
)
def test_headers_quotes_and_line_ends_come_in_many_ways(edges: str) -> None:
    data = read(edges, "node\nb\na\n", keep_directions=True)
    assert data.graphs.edge_index.tolist() == [[1], [0]]


def test_quoted_cells_may_hold_commas_and_quotes() -> None:
    data = read('source,target\n"a, b","c""d"\n', 'node,y\n"c""d",1\n"a, b",2\n', None, keep_directions=True)
    assert data.graphs.edge_index.tolist() == [[1], [0]]


WRONG_EDGES = {
    "": "edges.csv, line 1: the file is empty",
    "0,1\n1,2\n": "line 1: no column is named source (or src, from); there are '0', '1'; write a header line",
    "source;target\n0;1\n": "line 1: columns are separated by semicolons; use commas",
    "source\ttarget\n0\t1\n": "line 1: columns are separated by tabs",
    "source,target\n": "line 2: there are no edges",
    ",source,target\n0,1,2\n": "line 1: column 1 has no name; name it or leave it out (in pandas",
    "source,target,src\n0,1,2\n": "line 1: two columns are named 'source'",
    "source,target\n0,1\n0\n": "line 3: Expected 2 columns, got 1: 0; correct that line",
    "source,target\n0,1\n\n1,2\n": "line 3: source: a value is missing; correct the cell",
    "source,target\n0,1\n0,\n": "line 3: target: a value is missing",
    'source,target\n0,1\n"0,1\n2,3\n': 'line 3: Expected 2 columns, got 1: "0,1 2,3; correct',
    'source,target\n0,1\n"0,1\n2",3\n': "line 3: source: a quote follows a blank, or is not closed on its line",
    'source,target\n0,1\n0, "1"\n': "line 3: target: a quote follows a blank",
    "source,target,\ufffd\n0,1,2\n": "line 1: the name of column 3 is not UTF-8",
    "source,target\n0,1\n0,\x001\n": "line 3: contains the control character '\\x00'",
    "source,target\n0,1\r0,2\n": "line 2: contains the control character '\\r'",
    "source,target,weight\n0,1,1\n0,2,0\n": "line 3: weight: is not a positive 32-bit float",
    "source,target,weight\n0,1,1\n0,2,1e-60\n": "line 3: weight: is not a positive 32-bit float",
    "source,target,weight\n0,1,1\n0,2,\n": "line 3: weight: CSV conversion error to double: invalid value ''",
    "source,target,label\n0,1,1\n0,2,x\n": "line 3: label: 'x' is not an integer",
    "source,target,label\n0,1,1\n0,2,1.5\n": "line 3: label: 1.5 is not an integer",
    "source,target,label\n0,1,9223372036854775808\n": "line 2: label: 9223372036854775808 does not fit 64 bits",
    "source,target,type\n0,1,2\n0,2,directed\n": "line 3: type: CSV conversion error to double",
}
WRONG_EDGES |= {
    f"source,target,size\n0,1,1\n0,2,{cell}\n": "line 3: size: "
    for cell in ("nan", "inf", "1_0", "0x10", "1e39", "1 0", '"1,0"', "١", "--1", ".", "1e", "\u00a01")
}


@pytest.mark.parametrize("edges", WRONG_EDGES, ids=range(len(WRONG_EDGES)))
def test_what_is_wrong_is_reported_in_a_line(edges: str) -> None:
    told = message(edges)
    assert told.startswith("edges.csv, line ")
    assert WRONG_EDGES[edges] in told


@pytest.mark.parametrize(
    ("nodes", "graphs", "expected"),
    [
        (NODES + "a,z,1,1\n", None, "nodes.csv, line 7: node 'z' is listed twice in its graph"),
        (NODES.replace("b,x,2,1\n", ""), None, "edges.csv, line 2: node 'x' is not listed in nodes.csv in that graph"),
        ("graph,node\n", None, "edges.csv, line 2: node 'x' is not listed in nodes.csv"),
        ("node\nx\n", None, "nodes.csv, line 1: no column is named graph, but edges.csv has one"),
        (None, "graph,y\na,1\na,2\n", "graphs.csv, line 3: this graph is listed twice"),
        (None, "graph,y,size\na,1,2\n", "graphs.csv, line 1: unknown column 'size'"),
        (None, "y\n1\n", "graphs.csv, line 1: no column is named graph (or graph_id)"),
        (None, "graph,y\na,1\nb,0.5\n", "graphs.csv, line 3: y: 0.5 is not an integer"),
        (None, "graph,y\na,1\nb,nan\n", "graphs.csv, line 3: y: 'nan' is not a class"),
        (None, "graph,y\na,1\nb,yes\n", "graphs.csv, line 3: y: 'yes' after numbers; use one kind"),
        (
            NODES.replace("label", "y"),
            None,
            "nodes.csv, line 1: nodes can have a class y only in a single graph, but there are 2",
        ),
        (
            NODES.replace("label", "y"),
            GRAPHS,
            "nodes.csv, line 1: y is given for nodes and, in graphs.csv",
        ),
    ],
)
def test_files_must_fit_together(nodes: str | None, graphs: str | None, expected: str) -> None:
    assert expected in message(EDGES, nodes, graphs)


def test_a_wrong_cell_of_many_digits_is_refused_at_once() -> None:
    assert "line 2: weight" in message("source,target,weight\n0,1," + "1" * 100_000 + "x\n")


def test_the_number_of_columns_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_file, "MAX_COLUMNS", 5)
    assert read("source,target,a,b,c\n0,1,2,3,4\n").edge_attributes.shape == (2, 3)  # type: ignore[union-attr]
    assert "edges.csv, line 1: more than 5 columns" in message("source,target,a,b,c,d\n0,1,2,3,4,5\n")


@pytest.mark.parametrize("rows", [10, 200_000])  # the larger file is read by several threads
def test_the_line_of_a_wrong_cell_is_named_wherever_it_is(rows: int) -> None:
    text = "source,target,size\n" + "0,1,2\n" * rows
    assert f"edges.csv, line {rows + 2}: size: " in message(text + "0,1,x\n" + "0,1,2\n" * rows)
    assert read(text).duplicate_edges == rows - 1


def test_a_folder_holds_the_files_by_name(tmp_path: Path) -> None:
    for name, content in (("edges", EDGES), ("nodes", NODES), ("graphs", GRAPHS)):
        (tmp_path / f"{name}.csv").write_text(content)
    data = read_edge_list(tmp_path)
    assert (data.name, data.counts) == (tmp_path.name, (3, 5, 6))
    assert read_edge_list(tmp_path / "edges.csv").counts == (2, 5, 6)
    assert read_edge_list(tmp_path / "edges.csv").name == "edges"
    own = read_edge_list(tmp_path / "edges.csv", nodes=tmp_path / "nodes.csv", labels=tmp_path / "graphs.csv", name="T")
    assert (own.name, own.classes) == ("T", ("no", "yes"))
    (tmp_path / "nodes.csv").unlink()
    (tmp_path / "graphs.csv").unlink()
    assert read_edge_list(tmp_path).counts == (2, 5, 6)
    with pytest.raises(DataError, match="missing.csv: cannot be read"):
        read_edge_list(tmp_path, nodes=tmp_path / "missing.csv")
