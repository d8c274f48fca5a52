"""What Planetoid's files mean, on seven nodes; files that were not published are refused unread."""

import hashlib
import io
import os
import pickle
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.formats import planetoid, planetoid_pickles
from nmrgcl.data.formats.planetoid import read_planetoid
from nmrgcl.errors import DataError


def old_array(values: Any, dtype: str = "<i4") -> bytes:
    """An array as Python 2 pickles it."""
    array = np.asarray(values, dtype)
    order, code = dtype[:1].encode(), dtype[1:].encode()
    shape = b"".join(b"K" + bytes([n]) for n in array.shape) + bytes([0x84 + array.ndim])
    kind = b"cnumpy\ndtype\nU\x02" + code + b"K\x00K\x01\x87R(K\x03U\x01" + order + b"NNNJ" + b"\xff" * 4
    start = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01" + shape
    return start + kind + b"J" + b"\xff" * 4 + b"K\x00tb\x89" + old_text(array.tobytes()) + b"tb"


def old_text(text: bytes) -> bytes:
    return b"U" + bytes([len(text)]) + text


def old_matrix(dense: Any) -> bytes:
    """The same of a sparse matrix."""
    matrix = csr_matrix(np.asarray(dense, np.float32))
    state = old_text(b"_shape") + b"K" + bytes([matrix.shape[0]]) + b"K" + bytes([matrix.shape[1]]) + b"\x86"
    state += old_text(b"format") + old_text(b"csr") + old_text(b"indptr") + old_array(matrix.indptr)
    state += old_text(b"indices") + old_array(matrix.indices) + old_text(b"data") + old_array(matrix.data, "<f4")
    return b"cscipy.sparse.csr\ncsr_matrix\nq\x01)\x81q\x02}q\x03(" + state + b"ub"


def old_graph(graph: dict[int, list[int]]) -> bytes:
    """The same of a dictionary of neighbours."""
    start = b"ccollections\ndefaultdict\nc__builtin__\nlist\n\x85R("
    lists = (
        b"K%c](" % key + b"".join(b"M%c%c" % (n % 256, n // 256) for n in row) + b"e" for key, row in graph.items()
    )
    return start + b"".join(lists) + b"u"


# Seven nodes: one to train on, two to validate on, three to test on, and node 4, which no file holds.
BODIES = {
    "allx": old_matrix([[1, 0], [0, 0.5], [0, 0]]),
    "ally": old_array([[0, 1], [1, 0], [0, 0]]),
    "graph": old_graph({0: [1, 2, 1], 1: [0], 2: [2], 3: [0, 5], 4: [], 5: [3, 6]}),
    "tx": old_matrix([[0, 3], [4, 0], [5, 6]]),
    "ty": old_array([[0, 1]] * 3),
    "y": old_array([[0, 1]]),
}
EXAMPLE = {f"ind.t.{kind}": b"\x80\x02" + body + b"." for kind, body in BODIES.items()}
EXAMPLE["ind.t.test.index"] = b"5\n3\n6\n"


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the example had been published."""
    for name, data in EXAMPLE.items():
        monkeypatch.setitem(planetoid_pickles.DIGESTS, name, hashlib.sha256(data).hexdigest())


def write(folder: Path, files: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def read(folder: Path, files: dict[str, bytes] = EXAMPLE, **options: Any) -> Dataset:
    return read_planetoid(write(folder, files), "T", **options)


@pytest.mark.usefixtures("published")
def test_rows_go_where_test_index_says_and_gaps_have_neither_features_nor_label(tmp_path: Path) -> None:
    data = read(tmp_path)
    assert isinstance(data.node_attributes, csr_array)
    assert data.node_attributes.dtype == np.float32
    # test.index says 5, 3, 6: the first row of tx is node 5's, the second node 3's; nobody has node 4's.
    assert data.node_attributes.toarray().tolist() == [[1, 0], [0, 0.5], [0, 0], [4, 0], [0, 0], [0, 3], [5, 6]]
    assert data.y is not None
    assert (data.y.tolist(), data.classes) == ([1, 0, -1, 1, -1, 1, 1], (0, 1))
    assert data.public_split is not None
    assert (data.public_split.tolist(), data.public_split.dtype) == ([1, 2, 2, 3, 0, 3, 3], np.int8)
    assert (data.name, data.source, data.level) == ("T", str(tmp_path), "node")
    edges = [[1, 2, 3, 0, 0, 0, 5, 3, 6, 5], [0, 0, 0, 1, 2, 3, 3, 5, 5, 6]]
    assert data.graphs.edge_index.tolist() == edges
    assert (data.self_loops, data.duplicate_edges, data.one_way_edges) == (1, 1, 3)


@pytest.mark.usefixtures("published")
def test_directions_can_be_kept(tmp_path: Path) -> None:
    data = read(tmp_path, keep_directions=True)
    pairs = {(0, 1), (0, 2), (1, 0), (3, 0), (3, 5), (5, 3), (5, 6)}
    assert {(u, v) for u, v in data.graphs.edge_index.T.tolist()} == pairs


@pytest.mark.usefixtures("published")
def test_at_most_500_nodes_are_to_validate_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planetoid, "VALIDATION", 1)
    split = read(tmp_path).public_split
    assert split is not None
    assert split.tolist() == [1, 2, 0, 3, 0, 3, 3]


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize("place", [".", "raw", "T", "T/raw"])
def test_files_may_lie_deeper_in_the_folder(tmp_path: Path, place: str) -> None:
    write(tmp_path / place, EXAMPLE)
    assert read_planetoid(tmp_path, "T").counts == (1, 7, 10)


@pytest.mark.usefixtures("published")
def test_archives_are_read_and_other_files_in_them_left_alone(tmp_path: Path) -> None:
    files = [*EXAMPLE.items(), ("ind.other.x", b"cos\nsystem\n"), ("README", b"")]
    pack(tmp_path / "T.tar.xz", files)
    assert read_planetoid(tmp_path / "T.tar.xz", "t").counts == (1, 7, 10)
    with pytest.raises(DataError, match=r"T.tar.xz: contains no ind.pubmed.tx; download"):
        read_planetoid(tmp_path / "T.tar.xz", "PubMed")
    pack(tmp_path / "U.tar.xz", [*files, ("ind.t.y", EXAMPLE["ind.t.y"])])
    with pytest.raises(DataError, match=r"U.tar.xz: contains ind.t.y twice"):
        read_planetoid(tmp_path / "U.tar.xz", "t")


def pack(path: Path, files: list[tuple[str, bytes]]) -> None:
    with tarfile.open(path, "w:xz") as archive:
        for name, data in files:
            info = tarfile.TarInfo(f"T/raw/{name}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize("name", EXAMPLE)
def test_every_file_is_needed_as_it_was_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(planetoid, "unpickle", None)  # calling it would be a TypeError
    data = EXAMPLE[name]
    with pytest.raises(DataError, match=f"contains no {name}; download"):
        read(tmp_path / "without", {other: text for other, text in EXAMPLE.items() if other != name})
    flipped = [data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] for at in range(0, len(data), 7)]
    others = [text for other, text in EXAMPLE.items() if other != name]
    for instead in (b"", data[:-1], data + b"\n", *flipped, *others):
        with pytest.raises(DataError, match=f"^{name}: differs from the published Planetoid file"):
            read(tmp_path, EXAMPLE | {name: instead})


class Payload:
    """What an attacker would send: a call that leaves a trace."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.trace),)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_nothing_that_is_not_on_the_list_is_called(tmp_path: Path, protocol: int) -> None:
    data = pickle.dumps(Payload(tmp_path / "trace"), protocol)
    with pytest.raises(DataError, match="ind.cora.tx: differs from the published Planetoid file"):
        read_planetoid(write(tmp_path, {"ind.cora.tx": data}), "Cora")
    # Even if the digest were right.
    with pytest.raises(DataError, match=r"refers to (posix|nt).mkdir"):
        planetoid_pickles.unpickle(data)
    assert not (tmp_path / "trace").exists()
    pickle.loads(data)
    assert (tmp_path / "trace").exists()  # so the payload would have worked


def test_a_file_is_read_no_further_than_the_largest_could_reach() -> None:
    class Endless:
        read_so_far = 0

        def read(self, size: int, /) -> bytes:
            self.read_so_far += size
            assert self.read_so_far <= planetoid_pickles.MAX_BYTES + size
            return bytes(size)

    with pytest.raises(DataError, match="differs from the published"):
        planetoid_pickles.read_published(Endless(), "ind.cora.tx")


def test_the_digests_are_those_of_three_datasets() -> None:
    kinds = ("allx", "ally", "graph", "test.index", "tx", "ty", "x", "y")
    names = {f"ind.{name}.{kind}" for name in ("cora", "citeseer", "pubmed") for kind in kinds}
    assert planetoid_pickles.DIGESTS.keys() == names
    assert len(set(planetoid_pickles.DIGESTS.values())) == 24
