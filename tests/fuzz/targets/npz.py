"""Arrays in .npz files, against NumPy's own reading and dictionaries.

The mutated files are members of an archive, packed with right checksums before they are read: otherwise hardly any
would get past those. One example is a whole archive all the same.
"""

import io
import struct
import warnings
import zlib
from typing import Any

import numpy as np
import scipy.sparse as sp

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.formats.npz import read_npz
from tests.fuzz.target import Files, Target

WHOLE, FEATURES, LABELS = "whole.npz", "features.npy", "labels.npy"


def pack(members: Files) -> bytes:
    """A zip of these members, stored; ``zipfile`` would take most of the time of a run."""
    body, index = b"", b""
    for name, data in members.items():
        about = struct.pack("<4HL2L2H", 20, 0, 0, 0, zlib.crc32(data), len(data), len(data), len(name), 0)
        about = about[:8] + b"\x21\x00" + about[8:]
        index += b"PK\x01\x02\x14\x00" + about + struct.pack("<3H2L", 0, 0, 0, 0, len(body)) + name.encode()
        body += b"PK\x03\x04" + about + name.encode() + data
    end = struct.pack("<4H2LH", 0, 0, len(members), len(members), len(index), len(body), 0)
    return body + index + b"PK\x05\x06" + end


def npy(values: Any, dtype: str | None = None) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.asarray(values, dtype), allow_pickle=False)
    # The padding of the header is nothing to mutate.
    data = stream.getvalue()
    header = data[10 : data.index(b"\n") + 1].rstrip() + b"\n"
    return data[:8] + struct.pack("<H", len(header)) + header + data[data.index(b"\n") + 1 :]


def split(files: Files) -> tuple[bytes, bytes | None, bytes | None]:
    """The archive, and the features and labels beside it."""
    members = {name: data for name, data in files.items() if name not in (WHOLE, FEATURES, LABELS)}
    return files.get(WHOLE) or pack(members), files.get(FEATURES), files.get(LABELS)


def read(files: Files) -> Dataset:
    archive, x, y = (None if data is None else io.BytesIO(data) for data in split(files))
    assert archive is not None
    return read_npz(archive, features=x, labels=y, name="mutated", keep_directions=True)


def agree(files: Files, data: Dataset) -> None:
    archive, outer_x, outer_y = (None if part is None else _load(part) for part in split(files))
    assert archive is not None
    adjacency = _entries(archive, "adj_" if "adj_data" in archive else "")
    x = next((archive[key] for key in ("x", "attr_matrix") if key in archive), None)
    if outer_x is not None:
        x = outer_x["arr_0"]
    n = data.graphs.num_nodes
    y = outer_y["arr_0"] if outer_y is not None else next((archive[k] for k in ("y", "labels") if k in archive), None)
    sizes = np.diff(archive["node_ptr"].astype(object)) if "node_ptr" in archive else [n]
    assert data.graphs.node_ptr.diff().tolist() == list(sizes)
    for key in ("num_nodes", "shape", "adj_shape"):
        assert key not in archive or n == int(archive[key].reshape(-1)[0])
    _same_edges(data, adjacency)
    if "attr_data" in archive and x is None:
        assert isinstance(data.node_attributes, sp.csr_array)
        assert data.node_attributes.shape == tuple(archive["attr_shape"])
        same_entries(data.node_attributes, _entries(archive, "attr_"))
    else:
        assert (data.node_attributes is None) == (x is None)
        assert x is None or np.array_equal(data.node_attributes, x.astype(np.float32))  # type: ignore[arg-type]
    assert (data.y is None) == (y is None)
    if data.y is not None and y is not None:
        given = [None if value != value or value == "" else value for value in y.tolist()]
        assert [None if code < 0 else data.classes[code] for code in data.y] == given
        assert data.level == ("graph" if "node_ptr" in archive else "node")


def same_entries(matrix: sp.csr_array, listed: list[tuple[int, int, float]]) -> None:
    """Entries that are listed more than once add up; the matrix may be too wide to be written out."""
    total: dict[tuple[int, int], float] = {}
    for u, v, value in listed:
        total[u, v] = total.get((u, v), 0) + float(np.float32(value))
    most = max((abs(np.float32(value)) for _, _, value in listed), default=0)
    entries = matrix.tocoo()
    ours = dict(zip(zip(entries.row.tolist(), entries.col.tolist(), strict=True), entries.data.tolist(), strict=True))
    assert ours.keys() == total.keys()
    assert all(abs(ours[place] - total[place]) <= 1e-6 * most for place in ours)


def _load(data: bytes) -> dict[str, np.ndarray]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = np.load(io.BytesIO(data), allow_pickle=False)
        return {"arr_0": loaded} if isinstance(loaded, np.ndarray) else dict(loaded)


def _entries(arrays: dict[str, np.ndarray], prefix: str) -> list[tuple[int, int, float]]:
    """Row, column and value of every entry, as listed."""
    if "edge_index" in arrays:
        weight = arrays.get("edge_weight", np.ones(arrays["edge_index"].shape[1]))
        return list(zip(*arrays["edge_index"].tolist(), weight.tolist(), strict=True))
    values = arrays[f"{prefix}data"].tolist()
    if "row" in arrays and arrays["format"].item() in (b"coo", "coo"):
        return list(zip(arrays["row"].tolist(), arrays["col"].tolist(), values, strict=True))
    ends = arrays[f"{prefix}indptr"].tolist()
    lines = [i for i in range(len(ends) - 1) for _ in range(ends[i + 1] - ends[i])]
    pairs = zip(lines, arrays[f"{prefix}indices"].tolist(), values, strict=True)
    turned = prefix == "" and arrays["format"].item() in (b"csc", "csc")
    return [(v, u, value) if turned else (u, v, value) for u, v, value in pairs]


def _same_edges(data: Dataset, listed: list[tuple[int, int, float]]) -> None:
    total: dict[tuple[int, int], float] = {}
    for u, v, value in listed:
        if u != v:
            total[u, v] = total.get((u, v), 0) + float(np.float32(value))
    edges = [(u, v) for u, v in data.graphs.edge_index.T.tolist()]
    assert edges == sorted(total, key=lambda e: (e[1], e[0]))
    if all(value == 1 for _, _, value in listed):
        assert data.graphs.edge_weight is None
    elif edges:
        assert data.graphs.edge_weight is not None
        assert np.allclose(data.graphs.edge_weight.numpy(), [np.float32(total[e]) for e in edges], rtol=1e-6, atol=0)


def _members(**arrays: Any) -> dict[str, bytes]:
    return {f"{key}.npy": npy(value) for key, value in arrays.items()}


MATRIX = sp.csr_array(np.array([[0, 1, 2], [0, 0, 0], [0.5, 0, 0]], np.float32))
CSR = {key: getattr(MATRIX, key) for key in ("data", "indices", "indptr", "shape")}
BENCHMARK = _members(**{f"adj_{key}": value for key, value in CSR.items()}, labels=np.array([2, 0, 2], np.int8))
BENCHMARK |= _members(**{f"attr_{key}": value for key, value in CSR.items()})
COO = MATRIX.tocoo()
PLAIN = _members(edge_index=np.array([[0, 1, 3], [1, 0, 4]]), node_ptr=np.array([0, 3, 5]), y=np.array(["b", "a"]))
PLAIN |= _members(x=np.array([[1, 2], [3, 4], [5, 6], [7, 8], [9, 0]], ">i2"), edge_weight=np.array([1, 2, 0.5]))
BARE = _members(edge_index=np.array([[0, 1], [1, 2]], np.uint8), num_nodes=4, y=np.array([1.0, np.nan, 0, 3], "f2"))
TARGET = Target(
    name="npz",
    examples=(
        BENCHMARK,
        _members(format=b"csc", **CSR) | {LABELS: npy([True, False, True]), FEATURES: npy([[1.5], [2], [3]])},
        _members(format=b"coo", data=COO.data, row=COO.row, col=COO.col, shape=COO.shape),
        PLAIN,
        BARE,
        {WHOLE: pack(PLAIN)},
    ),
    tokens=(
        *(b"'<i4'", b"'|O'", b"'|b1'", b"'<f8'", b"'>u2'", b"'<U1'", b"'|S3'", b"'|V8'", b"True", b"False", b"(2, 3)"),
        *(b"(", b")", b",", b"'descr': ", b"'shape': ", b"\x93NUMPY", b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"),
        *(b"\x00" * 8, b"\x01\x00\x00\x00", b"\xff" * 4, b"\x00\x00\xc0\x7f", b"\x00\x00\x80\x3f", b"\xff\xff\xff\x7f"),
    ),
    read=read,
    agree=agree,
)
