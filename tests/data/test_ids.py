"""What users call their graphs and nodes travels from every kind of input to datasets and stores."""

import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch

from nmrgcl import as_dataset, load
from nmrgcl.data.formats.jsonl_export import write_jsonl
from nmrgcl.data.ids import LONGEST, as_ids, distinct_ids, id_array
from nmrgcl.data.motifs import motifs
from nmrgcl.data.stored import open_dataset, write_dataset
from nmrgcl.errors import DataError


def ids(dataset: Any) -> tuple[list[str] | None, list[str] | None]:
    graphs, nodes = dataset.ids("graph"), dataset.ids("node")
    return None if graphs is None else list(graphs), None if nodes is None else list(nodes)


def test_ids_are_whole_numbers_only_if_their_text_says_no_more() -> None:
    assert id_array(as_ids([7, -3, 0]), 3).tolist() == [7, -3, 0]
    assert id_array(["7", "007"], 2).tolist() == ["7", "007"]
    assert id_array(["9" * 30, "1"], 2).tolist() == ["9" * 30, "1"]
    assert id_array(None, 3).tolist() == [0, 1, 2]


def test_an_id_is_one_line_and_not_endless() -> None:
    assert list(as_ids(["a\nb", (1, 2), "x" * 5000])) == ["a\\nb", "(1, 2)", "x" * (LONGEST - 1) + "…"]


def test_names_tell_things_apart_or_are_not_used() -> None:
    assert list(distinct_ids(["a", "b"]) or ()) == ["a", "b"]
    assert distinct_ids(["a", "a"]) is None
    assert distinct_ids(["a", None]) is None
    assert distinct_ids(["a", ""]) is None


def test_edge_lists_keep_the_ids_of_graphs_in_the_order_of_the_graphs(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("graph,source,target\ng10,a,b\ng2,b,c\ng10,b,c\n")
    (tmp_path / "graphs.csv").write_text("graph,y\ng2,1\nempty,0\ng10,1\n")
    found = load(str(tmp_path))
    assert ids(found) == (["g2", "empty", "g10"], None)
    assert found.graphs.node_ptr.diff().tolist() == [2, 0, 3]


def test_edge_lists_keep_the_ids_of_nodes_in_the_order_of_the_nodes(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\n07,12\n7,3\n")
    found = load(str(tmp_path / "edges.csv"))
    assert ids(found) == (None, ["07", "12", "3"])
    degree = found.graphs.row_ptr.diff().tolist()
    assert dict(zip(found.ids("node") or (), degree, strict=True)) == {"07": 2, "12": 1, "3": 1}
    (tmp_path / "nodes.csv").write_text("node\n3\n12\n7\n")
    both = load(str(tmp_path))
    assert ids(both)[1] == ["3", "12", "7"]
    assert both.graphs.row_ptr.diff().tolist() == [1, 1, 2]


def test_a_folder_of_edge_lists_is_where_it_says_it_was_read_from(tmp_path: Path) -> None:
    """Its edges.csv alone would be other data."""
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    assert load(str(tmp_path)).source == str(tmp_path)


@pytest.mark.parametrize("ending", ["graphml", "gml"])
def test_graphs_are_called_as_their_files(ending: str, tmp_path: Path) -> None:
    for name in ("ten", "two"):
        getattr(nx, f"write_{ending}")(nx.path_graph(3), tmp_path / f"{name}.{ending}")
    assert ids(load(str(tmp_path))) == (["ten", "two"], None)
    assert ids(load(str(tmp_path / f"ten.{ending}"))) == (["ten"], ["0", "1", "2"])


def test_graphs_of_one_graphml_file_have_its_ids_or_numbers(tmp_path: Path) -> None:
    one = '<graph id="{}" edgedefault="undirected"><node id="a"/></graph>'
    for (first, second), expected in {("x", "y"): ["x", "y"], ("x", "x"): ["two-1", "two-2"]}.items():
        (tmp_path / "two.graphml").write_text(f"<graphml>{one.format(first)}{one.format(second)}</graphml>")
        assert ids(load(str(tmp_path / "two.graphml")))[0] == expected


def test_nodes_of_gml_are_called_by_their_labels_unless_two_share_one(tmp_path: Path) -> None:
    text = 'graph [ node [ id 4 label "Ann &amp; Bo" ] node [ id 2 label "{}" ] edge [ source 2 target 4 ] ]'
    for label, expected in {"Cy": ["Ann & Bo", "Cy"], "Ann &amp; Bo": ["4", "2"]}.items():
        (tmp_path / "g.gml").write_text(text.format(label))
        assert ids(load(str(tmp_path / "g.gml")))[1] == expected


def test_json_lines_have_ids_of_graphs_and_of_the_nodes_of_one(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    path.write_text('{"edges": [[0, 1]], "id": "a"}\n{"edges": [], "num_nodes": 1, "id": 5}\n')
    assert ids(load(str(path))) == (["a", "5"], None)
    path.write_text('{"edges": [], "node_ids": ["p", 3]}\n')
    found = load(str(path))
    assert ids(found) == (None, ["p", "3"])
    assert found.graphs.num_nodes == 2


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (['{"edges": [], "id": "a"}', '{"edges": []}'], "line 2: has no id, but line 1 does"),
        (['{"edges": [], "id": ""}'], "line 1: id: "),
        (['{"edges": [], "id": 1.5}'], "line 1: id: "),
        (
            ['{"edges": []}', '{"edges": [], "node_ids": []}'],
            "line 2: node_ids are allowed only in a file of one graph",
        ),
        (
            ['{"edges": [[0, 1]], "num_nodes": 2, "node_ids": ["a"]}'],
            "line 1: node_ids has 1 entries, but the graph has 2",
        ),
    ],
)
def test_ids_that_do_not_fit_are_refused(lines: list[str], told: str, tmp_path: Path) -> None:
    (tmp_path / "g.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match=told):
        load(str(tmp_path / "g.jsonl"))


def test_exported_ids_are_read_back(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("graph,source,target\nb,1,2\na,1,2\n")
    (tmp_path / "one.csv").write_text("source,target\nu,v\n")
    for name in ("edges", "one"):
        found = load(str(tmp_path / f"{name}.csv"))
        write_jsonl(found, tmp_path / "out.jsonl")
        assert ids(load(str(tmp_path / "out.jsonl"))) == ids(found)


def test_networkx_graphs_are_called_by_their_names_and_nodes_as_they_are() -> None:
    named = [nx.path_graph(2), nx.path_graph(3)]
    named[0].name, named[1].name = "p", "q"
    assert ids(as_dataset(named)) == (["p", "q"], None)
    assert ids(as_dataset([nx.path_graph(2), nx.path_graph(3)])) == (None, None)
    assert ids(as_dataset(nx.Graph([("Ann", (1, 2))]))) == (None, ["Ann", "(1, 2)"])


def test_pyg_data_are_called_by_name_else_smiles_also_in_a_batch() -> None:
    geometric = pytest.importorskip("torch_geometric.data")
    edges = torch.tensor([[0, 1], [1, 0]])

    def made(**texts: str) -> Any:
        return geometric.Data(edge_index=edges, x=torch.ones(2, 1), **texts)

    assert ids(as_dataset([made(name="a", smiles="CC"), made(name="b", smiles="CO")]))[0] == ["a", "b"]
    assert ids(as_dataset([made(name="a", smiles="CC"), made(name="a", smiles="CO")]))[0] == ["CC", "CO"]
    batch = geometric.Batch.from_data_list([made(smiles="CC"), made(smiles="CO")])
    assert ids(as_dataset(batch))[0] == ["CC", "CO"]
    assert ids(as_dataset([made(name="a"), made()])) == (None, None)


def test_stores_keep_ids_and_without_any_are_what_they_were(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("graph,source,target\nä,1,2\nb,1,2\n")
    write_dataset(tmp_path / "named", load(str(tmp_path / "edges.csv")))
    assert ids(open_dataset(tmp_path / "named")) == (["ä", "b"], None)
    write_dataset(tmp_path / "plain", motifs(graphs=4))
    arrays = json.loads((tmp_path / "plain" / "manifest.json").read_text())["arrays"]
    assert not [name for name in arrays if "ids" in name]
    assert ids(open_dataset(tmp_path / "plain")) == (None, None)


def test_ids_of_a_store_that_do_not_fit_its_graphs_are_refused(tmp_path: Path) -> None:
    from nmrgcl.store import open_store, write_store

    write_dataset(tmp_path / "good", motifs(graphs=4))
    good = open_store(tmp_path / "good")
    for count, length in ((3, 1), (4, 5 * LONGEST)):
        wrong = {"graph_ids": np.full(count * length, 65, np.uint8), "graph_ids_lengths": np.full(count, length)}
        write_store(tmp_path / "bad", good.graphs(), extra={**good.extra, **wrong}, meta=good.meta)
        with pytest.raises(DataError, match="ids do not match the graphs"):
            open_dataset(tmp_path / "bad")
