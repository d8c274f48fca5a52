"""Planetoid's pickles, against Python's own unpickler, NumPy, SciPy and loops."""

import io
import pickle
import warnings
from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.formats.planetoid import VALIDATION, read_planetoid_files
from tests.fuzz.target import Files, Target
from tests.fuzz.targets.npz import same_entries


class _Unframed(pickle._Unpickler):
    """Python's own in Python, as that in C makes room for whatever it is told; frames only say how much to buffer."""

    dispatch = pickle._Unpickler.dispatch | {pickle.FRAME[0]: lambda self: self.read(8)}

    def find_class(self, module: str, name: str) -> Any:
        # Which names are those of Python 2 is a matter of the protocol there, of the names here.
        return super().find_class("builtins" if module == "__builtin__" else module, name)


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


def read(files: Files) -> Dataset:
    return read_planetoid_files(((name, io.BytesIO(data)) for name, data in files.items()), "mutated", "T")


def agree(files: Files, data: Dataset) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # The reader has accepted them, so that they ask for nothing but arrays.
        part: dict[str, Any] = {
            name[6:]: _Unframed(io.BytesIO(text), encoding="latin1").load()
            for name, text in files.items()
            if name != "ind.t.test.index"
        }
    index = [int(line) for line in files["ind.t.test.index"].decode("utf-8-sig").split()]
    known, n = len(part["ally"]), max(index) + 1
    x: list[tuple[int, int, float]] = []
    y: list[int | None] = [None] * n
    for kind, nodes in (("all", range(known)), ("t", index)):
        for row, node in enumerate(nodes):
            x += [(node, column, value) for column, value in _row(part[f"{kind}x"], row)]
            y[node] = next((k for k, one in enumerate(part[f"{kind}y"][row]) if one == 1), None)
    assert isinstance(data.node_attributes, csr_array)
    assert data.node_attributes.shape == (n, part["allx"].shape[1])
    same_entries(data.node_attributes, x)
    assert data.y is not None
    assert [None if code < 0 else data.classes[code] for code in data.y] == y
    pairs = {(u, v) for u, row in part["graph"].items() for v in row if u != v}
    assert {tuple(edge) for edge in data.graphs.edge_index.T.tolist()} == pairs | {(v, u) for u, v in pairs}
    split = [1] * len(part["y"]) + [2] * min(VALIDATION, known - len(part["y"]))
    split = (split + [0] * n)[:known] + [3 if node in index else 0 for node in range(known, n)]
    assert data.public_split is not None
    assert data.public_split.tolist() == split


def _row(matrix: Any, row: int) -> list[tuple[int, float]]:
    if isinstance(matrix, np.ndarray):
        return [(column, value) for column, value in enumerate(matrix[row].tolist()) if np.float32(value)]
    span = slice(matrix.indptr[row], matrix.indptr[row + 1])
    return list(zip(matrix.indices[span].tolist(), matrix.data[span].tolist(), strict=True))


# Seven nodes: one to train on, two to validate on, three to test on, and node 4, which no file holds.
ALLX, ALLY, TX, TY = [[1, 0], [0, 0.5], [0, 0]], [[0, 1], [1, 0], [0, 0]], [[0, 3], [4, 0], [5, 6]], [[0, 1]] * 3
GRAPH = {0: [1, 2, 1], 1: [0], 2: [2], 3: [0, 5], 4: [], 5: [3, 6]}
INDEX = b"5\n3\n6\n"
OLD = {
    "allx": old_matrix(ALLX),
    "ally": old_array(ALLY),
    "graph": old_graph(GRAPH),
    "tx": old_matrix(TX),
    "ty": old_array(TY),
    "x": old_array(ALLX[:1], "<f8"),
    "y": old_array(ALLY[:1]),
}
EXAMPLE = {f"ind.t.{kind}": b"\x80\x02" + body + b"." for kind, body in OLD.items()} | {"ind.t.test.index": INDEX}
_NEW = {
    "allx": csr_matrix(np.array(ALLX)),
    "ally": np.array(ALLY, ">i2"),
    "graph": {key: list(row) for key, row in GRAPH.items()},
    "tx": np.array(TX, np.float64, order="F"),
    "ty": np.array(TY, bool),
    "x": np.array(ALLX[:1]),
    "y": np.array(ALLY[:1], np.uint8),
}
NEW = {f"ind.t.{kind}": pickle.dumps(value, 4) for kind, value in _NEW.items()} | {"ind.t.test.index": INDEX}
TARGET = Target(
    name="planetoid",
    examples=(EXAMPLE, NEW),
    tokens=(
        *(bytes([code]) for code in b"()]}.0abcehjlqrstuKMNJUTXCBRd\x80\x81\x85\x86\x87\x88\x89\x8a\x8c\x93\x94\x95"),
        *(
            b"K\x00",
            b"K\x05",
            b"M\x01\x00",
            b"J\xff\xff\xff\xff",
            b"U\x02i8",
            b"U\x02f2",
            b"U\x01>",
            b"q\x01",
            b"h\x01",
        ),
        *(b"r\xff\xff\xff\x7f", b"j\x00\x00\x00\x00", b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7f", b"cos\nsystem\n"),
        *(b"\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01", b"\x82\x01", b"P1\n", b"\n", b"-", b"4", b" ", b"\x00"),
    ),
    read=read,
    agree=agree,
)
