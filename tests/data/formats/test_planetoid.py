"""What Planetoid's files mean, on seven nodes, and every way they can fail to fit together."""

import io
import pickle
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.formats import planetoid
from nmrgcl.data.formats.planetoid import read_planetoid, read_planetoid_files
from nmrgcl.errors import DataError
from tests.fuzz.targets.planetoid import EXAMPLE, NEW, OLD, old_array, old_graph, old_matrix


def read(files: dict[str, bytes], **options: Any) -> Dataset:
    streams = ((name, io.BytesIO(data)) for name, data in files.items())
    return read_planetoid_files(streams, "here", "T", **options)


def message(**changed: bytes | None) -> str:
    files = EXAMPLE | {f"ind.t.{kind.replace('test_index', 'test.index')}": data for kind, data in changed.items()}
    with pytest.raises(DataError) as caught:
        read({name: data for name, data in files.items() if data is not None})
    text = str(caught.value)
    assert text.isprintable()
    assert len(text) < 250
    return text


def old(body: bytes) -> bytes:
    return b"\x80\x02" + body + b"."


@pytest.mark.parametrize("files", [EXAMPLE, NEW], ids=["python 2", "python 3"])
def test_rows_go_where_test_index_says_and_gaps_have_neither_features_nor_label(files: dict[str, bytes]) -> None:
    data = read(files)
    assert isinstance(data.node_attributes, csr_array)
    assert data.node_attributes.dtype == np.float32
    # test.index says 5, 3, 6: the first row of tx is node 5's, the second node 3's; nobody has node 4's.
    assert data.node_attributes.toarray().tolist() == [[1, 0], [0, 0.5], [0, 0], [4, 0], [0, 0], [0, 3], [5, 6]]
    assert data.y is not None
    assert (data.y.tolist(), data.classes) == ([1, 0, -1, 1, -1, 1, 1], (0, 1))
    assert data.public_split is not None
    assert (data.public_split.tolist(), data.public_split.dtype) == ([1, 2, 2, 3, 0, 3, 3], np.int8)
    assert (data.name, data.source, data.level) == ("T", "here", "node")
    edges = [[1, 2, 3, 0, 0, 0, 5, 3, 6, 5], [0, 0, 0, 1, 2, 3, 3, 5, 5, 6]]
    assert data.graphs.edge_index.tolist() == edges
    assert (data.self_loops, data.duplicate_edges, data.one_way_edges) == (1, 1, 3)


def test_directions_can_be_kept() -> None:
    data = read(EXAMPLE, keep_directions=True)
    pairs = {(0, 1), (0, 2), (1, 0), (3, 0), (3, 5), (5, 3), (5, 6)}
    assert {(u, v) for u, v in data.graphs.edge_index.T.tolist()} == pairs


def test_at_most_500_nodes_are_to_validate_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planetoid, "VALIDATION", 1)
    split = read(EXAMPLE).public_split
    assert split is not None
    assert split.tolist() == [1, 2, 0, 3, 0, 3, 3]


@pytest.mark.parametrize("place", [".", "raw", "T", "T/raw"])
def test_files_may_lie_deeper_in_the_folder(tmp_path: Path, place: str) -> None:
    folder = tmp_path / place
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in EXAMPLE.items():
        (folder / name).write_bytes(data)
    assert read_planetoid(tmp_path, "T").counts == (1, 7, 10)


def test_archives_are_read_and_other_files_in_them_left_alone(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "T.tar.xz", "w:xz") as archive:
        for name, data in (EXAMPLE | {"ind.other.x": b"cos\nsystem\n", "README": b""}).items():
            info = tarfile.TarInfo(f"T/raw/{name}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    assert read_planetoid(tmp_path / "T.tar.xz", "t").counts == (1, 7, 10)
    with pytest.raises(DataError, match=r"T.tar.xz: holds no ind.pubmed.x; fetch"):
        read_planetoid(tmp_path / "T.tar.xz", "PubMed")


def test_every_file_is_needed_once() -> None:
    for name in EXAMPLE:
        with pytest.raises(DataError, match=f"here: holds no {name}"):
            read({other: data for other, data in EXAMPLE.items() if other != name})
    twice = [(name, io.BytesIO(data)) for name, data in EXAMPLE.items()]
    twice.append(("ind.t.y", io.BytesIO(EXAMPLE["ind.t.y"])))
    with pytest.raises(DataError, match="here: holds ind.t.y twice"):
        read_planetoid_files(twice, "here", "T")


HUGE = 1 << 80
WRONG: dict[str, tuple[dict[str, bytes], str]] = {
    "code": ({"x": old(b"cos\nsystem\nU\x04true\x85R")}, "ind.t.x, byte 13: asks for 'os.system'"),
    "kinds": ({"allx": old(OLD["graph"])}, "ind.t.allx: holds no matrix"),
    "labels": ({"ally": old(OLD["allx"])}, "ind.t.ally: holds no array of one-hot rows"),
    "flat labels": ({"ally": old(old_array([1, 2, 3]))}, "ind.t.ally: holds no array of one-hot rows"),
    "graph": ({"graph": old(OLD["y"])}, "ind.t.graph: holds no dictionary of neighbours"),
    "two classes": ({"ally": old(old_array([[0, 1], [1, 1], [0, 0]]))}, "ind.t.ally: row 1 is not one-hot"),
    "other than one": ({"ally": old(old_array([[0, 1], [0, 0], [2, 0]]))}, "ind.t.ally: row 2 is not one-hot"),
    "rows": ({"tx": old(old_matrix([[1, 2]]))}, "ind.t.tx: has 1 rows, but ind.t.ty has 3"),
    "columns": ({"tx": old(old_matrix([[1, 2, 3]] * 3))}, "ind.t.tx: has 3 columns, but allx has 2"),
    "classes": ({"ty": old(old_array([[1, 0, 0]] * 3))}, "ind.t.ty: has 3 columns, unlike ally"),
    "lines": ({"test_index": b"3\n4\n"}, "ind.t.test.index: has 2 lines, but ty has 3 rows"),
    "known": ({"test_index": b"3\n2\n4\n"}, "ind.t.test.index, line 2: node 2 is one of the 3 others"),
    "negative": ({"test_index": b"3\n-4\n4\n"}, "ind.t.test.index, line 2: node -4"),
    "twice": ({"test_index": b"5\n3\n5\n"}, "ind.t.test.index, line 3: node 5 stands there for the second time"),
    "far": ({"test_index": b"5\n3\n9223372036854775807\n"}, "leaves out more than 1000000 nodes"),
    "words": ({"test_index": b"5\nthree\n6\n"}, "ind.t.test.index, line 2: expected a 64-bit integer, not 'three'"),
    "neighbour": ({"graph": old(old_graph({0: [1], 1: [0, 7]}))}, "ind.t.graph: neighbour 7 at [2], but there are 7"),
    "node": ({"graph": old(old_graph({0: [1], 9: [0]}))}, "ind.t.graph: node 9 at [1], but there are 7"),
    "huge": ({"graph": pickle.dumps({0: [HUGE]}, 4)}, "ind.t.graph: a node's number does not fit 64 bits"),
    "names": ({"graph": pickle.dumps({"a": [0]}, 4)}, "ind.t.graph: does not list the neighbours of nodes"),
    "no lists": ({"graph": pickle.dumps({0: 1}, 4)}, "ind.t.graph: does not list the neighbours of nodes"),
    "more to train on": (
        {"x": old(old_matrix([[1, 0]] * 4)), "y": old(old_array([[1, 0]] * 4))},
        "ind.t.y: has more rows than ally",
    ),
}


@pytest.mark.parametrize(("files", "expected"), WRONG.values(), ids=WRONG)
def test_files_that_do_not_fit_are_named(files: dict[str, bytes], expected: str) -> None:
    assert expected in message(**files)
