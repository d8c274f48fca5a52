"""``nmrgcl datasets``: every way in, the checks, and the way out."""

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from nmrgcl.data import locate
from nmrgcl.data.loading import load
from tests.data.formats.tu_text import write_tu
from tests.test_cli import FAST, run

JSONL = """{"edges": [[0, 1], [1, 2]], "y": "b"}
{"edges": [[0, 0], [0, 1], [0, 1]], "y": null}
{"edges": [], "num_nodes": 1, "y": "a"}
"""
GRAPHML = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="k" for="graph" attr.name="y" attr.type="int"/>
<graph edgedefault="undirected"><data key="k">3</data><node id="a"/><node id="b"/><edge source="a" target="b"/></graph>
</graphml>"""
GML = 'graph [ y 3 node [ id 5 label "x" ] node [ id 6 ] edge [ source 5 target 6 ] ]'


def written(folder: Path) -> dict[str, list[str]]:
    """One input of each kind, as arguments of ``import``."""
    folder.mkdir()
    (folder / "g.jsonl").write_text(JSONL)
    (folder / "g.graphml").write_text(GRAPHML)
    (folder / "g.gml").write_text(GML)
    (folder / "e.csv").write_text("graph,source,target\np,0,1\np,1,2\nq,0,1\n")
    (folder / "n.csv").write_text("graph,node,size\np,0,1\np,1,2\np,2,3\nq,0,4\nq,1,5\n")
    (folder / "l.csv").write_text("graph,y\np,1\nq,\n")
    scipy.sparse.save_npz(folder / "a.npz", scipy.sparse.csr_array(np.eye(4, k=1)))
    np.save(folder / "x.npy", np.ones((4, 2)))
    np.save(folder / "y.npy", np.array([0, 1, 1, 0]))
    write_tu(folder / "T")
    return {
        "jsonl": ["g.jsonl"],
        "graphml": ["g.graphml"],
        "gml": ["g.gml"],
        "csv": ["e.csv", "--nodes", str(folder / "n.csv"), "--labels", str(folder / "l.csv")],
        "npz": ["a.npz", "--features", str(folder / "x.npy"), "--labels", str(folder / "y.npy")],
        "tu": ["T"],
    }


@pytest.mark.parametrize(
    ("kind", "counts", "classes"),
    [
        ("jsonl", (3, 6, 6), ("a", "b")),
        ("graphml", (1, 2, 2), (3,)),
        ("gml", (1, 2, 2), (3,)),
        ("csv", (2, 5, 6), (1,)),
        ("npz", (1, 4, 6), (0, 1)),
        ("tu", (2, 5, 6), (-1, 7)),
    ],
)
def test_every_format_becomes_a_store_that_loads(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, kind: str, counts: tuple[int, ...], classes: tuple[object, ...]
) -> None:
    source, *options = written(tmp_path / "in")[kind]
    store = str(tmp_path / "store")
    out, _ = run(capsys, "datasets", "import", str(tmp_path / "in" / source), *options, "--out", store, "--json")
    assert tuple(json.loads(out)[key] for key in ("graphs", "nodes", "edges")) == counts
    data = load(store)
    assert data.counts == counts
    assert data.classes == classes
    assert data.graphs.num_graphs == counts[0]


def test_what_was_left_out_added_and_missing_is_reported(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    written(tmp_path / "in")
    out, _ = run(capsys, "datasets", "import", str(tmp_path / "in" / "g.jsonl"), "--out", str(tmp_path / "s"))
    assert out.splitlines() == [
        f"{tmp_path / 's'}: 3 graphs, 6 nodes, 6 directed edges, 2 classes",
        "  self loops left out: 1",
        "  repeated edges merged: 1",
        "  reverses added: 3",
        "  labels missing: 1",
    ]
    out, _ = run(capsys, "datasets", "info", str(tmp_path / "s"))
    assert "class sizes        a: 1, b: 1, no label: 1" in out


def test_directions_are_kept_on_request(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    written(tmp_path / "in")
    run(capsys, "datasets", "import", str(tmp_path / "in" / "g.jsonl"), "--directed", "--out", str(tmp_path / "s"))
    data = load(str(tmp_path / "s"))
    assert not data.graphs.symmetric
    assert data.graphs.edge_index.T.tolist() == [[0, 1], [1, 2], [3, 4]]


def test_export_and_import_give_the_same_back(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run(capsys, "datasets", "export", "MUTAG", "--out", str(tmp_path / "m.jsonl"))
    once, again = load("MUTAG"), load(str(tmp_path / "m.jsonl"))
    assert once.graphs.edge_index.equal(again.graphs.edge_index)
    assert once.classes == again.classes
    assert once.node_labels is not None
    assert again.node_labels is not None
    assert np.array_equal(once.node_labels, again.node_labels)
    _, err = run(capsys, "datasets", "export", "MUTAG", "--out", str(tmp_path / "m.txt"), code=2)
    assert "the ending must be .jsonl" in err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["gone.jsonl"], "gone.jsonl: no such file or folder"),
        (["g.jsonl", "--nodes", "n.csv"], "the format JSON lines has no option nodes; leave it out"),
        (["T", "--directed"], "the format TU has no option keep-directions"),
        ([".."], "contains no graphs in a known format"),
        (["x.npy"], "x.npy"),
    ],
)
def test_what_cannot_be_imported_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str
) -> None:
    written(tmp_path / "in")
    monkeypatch.chdir(tmp_path / "in")
    _, err = run(capsys, "datasets", "import", *arguments, "--out", str(tmp_path / "s"), code=2)
    assert told in err
    assert err.count("\n") == 1
    assert not (tmp_path / "s").exists()


def test_graphs_without_labels_features_nodes_or_edges_train_and_embed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    huge = {"edges": [[i, i + 1] for i in range(5000)]}
    lines = [{"edges": []}, {"edges": [], "num_nodes": 3}, {"edges": [[0, 1]], "num_nodes": 9}, huge] * 3
    (tmp_path / "g.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    run(capsys, "pretrain", str(tmp_path / "g.jsonl"), *FAST, "--quiet", "--out", str(tmp_path / "r"))
    run(capsys, "embed", str(tmp_path / "r" / "seed-0"), str(tmp_path / "g.jsonl"), "--out", str(tmp_path / "z.npz"))
    with np.load(tmp_path / "z.npz") as found:
        assert found["z"].shape[0] == 12
        assert np.isfinite(found["z"]).all()
        assert "y" not in found
    _, err = run(capsys, "evaluate", str(tmp_path / "r"), str(tmp_path / "g.jsonl"), code=2)
    assert "has no graph labels" in err


def test_verify_compares_what_is_available(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NMRGCL_MIRROR", raising=False)
    monkeypatch.setenv("NMRGCL_HOME", str(tmp_path))
    out, _ = run(capsys, "datasets", "verify", "--json")
    found = json.loads(out)
    (row,) = found["datasets"]
    assert (row["name"], row["ok"]) == ("MUTAG", True)
    assert row["published"] == {"graphs": 188, "nodes": 17.93, "edges": 19.79, "classes": 2}
    assert row["measured"]["graphs"] == 188
    assert "COLLAB" in found["not_at_hand"]
    out, _ = run(capsys, "datasets", "verify", "DD", code=1)
    assert out == "not available locally: DD; nmrgcl datasets fetch downloads them\n"
    _, err = run(capsys, "datasets", "verify", "motifz", code=2)
    assert "did you mean motifs?" in err


def test_a_set_that_differs_is_shown_beside_what_is_published(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    monkeypatch.setenv("NMRGCL_HOME", str(tmp_path))
    write_tu(tmp_path / "tu" / "DD", "DD")
    shutil.make_archive(str(tmp_path / "tu" / "DD"), "zip", tmp_path / "tu" / "DD")
    out, _ = run(capsys, "datasets", "verify", "DD", code=1)
    assert out.splitlines() == [
        "NOT DD: 2 graphs, 2.5 nodes, 1.5 edges, 2 classes (edges: undirected); 3 files by SHA-256",
        "    published: 1178 graphs, 284.32 nodes, 715.66 edges, 2 classes",
        "    missing or changed: DD_graph_indicator.txt, DD_graph_labels.txt, DD_node_labels.txt",
    ]


def test_fetch_continues_after_a_failure_and_says_how_many(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NMRGCL_MIRROR", raising=False)
    monkeypatch.setenv("NMRGCL_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(locate, "ADDRESSES", dict.fromkeys(locate.ADDRESSES, "http://127.0.0.1:9"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    out, err = run(capsys, "datasets", "fetch", "Cora", "MUTAG", code=2)
    first, second = out.splitlines()
    assert f"save it as {tmp_path / 'home' / 'planetoid' / 'Cora' / 'raw' / 'ind.cora.x'}" in first
    assert second.startswith("MUTAG: 188 graphs, 3371 nodes, 3721 edges, from ")
    assert err.endswith("1 of 2 datasets could not be fetched; see above\n")
    _, err = run(capsys, "datasets", "fetch", "PROTIENS", code=2)
    assert "did you mean PROTEINS" in err


def test_what_is_changed_in_a_file_is_said_once_on_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "g.jsonl").write_text('{"edges": [[0, 1], [1, 1], [0, 1]]}\n')
    _, err = run(capsys, "datasets", "info", str(tmp_path / "g.jsonl"))
    assert err == "nmrgcl: g: 1 self-loop left out; 1 repeated edge merged\n"
