"""The raw files of the Planetoid citation sets (Yang et al. 2016), pickles named ``ind.NAME.x`` and so on.

``allx`` and ``ally`` hold features and one-hot labels of the nodes that come first; of these ``x`` and ``y`` repeat
those to train on. ``tx`` and ``ty`` hold the nodes to test on, whose numbers are the lines of ``test.index``.
"""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from nmrgcl.data.assemble import Listing, assemble
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.files.archive import Readable, members
from nmrgcl.data.formats.matrices import check_range, feature_rows, real_numbers
from nmrgcl.data.formats.pickles import interpret_pickle
from nmrgcl.data.formats.table import read_table
from nmrgcl.errors import DataError

VALIDATION = 500
"""Nodes that everybody validates on: those after the ones to train on."""

MAX_MISSING = 1_000_000
"""Nodes that neither file of features holds; CiteSeer has 15."""

_PICKLES = ("x", "tx", "allx", "y", "ty", "ally", "graph")
_INDEX = "test.index"
_REMEDY = "fetch the files again"


def read_planetoid(path: Path, name: str, *, keep_directions: bool = False) -> Dataset:
    """The dataset ``name`` in a folder, ``.zip``, ``.tar.xz`` or ``.tar.gz``; upper and lower case do not matter."""
    names = _names(name)
    place = path
    if path.is_dir():
        inner = path / name
        folders = (path, path / "raw", inner, inner / "raw")
        place = next((f for f in folders if any((f / file).is_file() for file in names)), path)
    files = members(place, lambda file: file in names)
    return read_planetoid_files(files, str(path), name, keep_directions=keep_directions)


def read_planetoid_files(
    files: Iterable[tuple[str, Readable]], source: str, name: str, *, keep_directions: bool = False
) -> Dataset:
    """The dataset in these files, read in the order they come; ``source`` is what messages call all of them."""
    parts = _read_parts(files, source, name)
    prefix = f"ind.{name.lower()}"
    features = {kind: _features(parts[kind], f"{prefix}.{kind}") for kind in ("x", "tx", "allx")}
    classes = {kind: _classes(parts[kind], f"{prefix}.{kind}") for kind in ("y", "ty", "ally")}
    test = parts[_INDEX][:, 0]
    _check_sizes(features, classes, {kind: parts[kind].shape[1] for kind in classes}, test, prefix)
    known = len(classes["ally"])
    num_nodes = _count_nodes(test, known, f"{prefix}.{_INDEX}")
    begin, end = _edges(parts["graph"], num_nodes, f"{prefix}.graph")
    # CiteSeer's test.index has gaps: nodes without edges, with features of zero. They have no label here; PyTorch
    # Geometric, which takes the largest entry of a row of zeros, counts them to class 0.
    row = np.full(num_nodes, known + len(test))
    row[:known] = np.arange(known)
    row[test] = known + np.arange(len(test))
    nothing = csr_array((1, features["allx"].shape[1]), dtype=np.float32)
    label = np.concatenate([classes["ally"], classes["ty"], [-1]])[row]
    split = np.zeros(num_nodes, np.int8)
    split[: len(classes["y"])] = 1
    split[len(classes["y"]) : min(len(classes["y"]) + VALIDATION, known)] = 2
    split[test] = 3
    listing = Listing(
        sizes=np.array([num_nodes]),
        source=begin,
        destination=end,
        node_attributes=vstack([features["allx"], features["tx"], nothing], format="csr")[row],
        y=[None if code < 0 else code for code in label.tolist()],
        level="node",
        public_split=split,
    )
    return assemble(listing, name, source, keep_directions=keep_directions)


def _names(name: str) -> dict[str, str]:
    """The files of a dataset, and what each holds."""
    return {f"ind.{name.lower()}.{kind}": kind for kind in (*_PICKLES, _INDEX)}


def _read_parts(files: Iterable[tuple[str, Readable]], source: str, name: str) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    names = _names(name)
    for file, stream in files:
        if (kind := names.get(file)) is None:
            continue
        if kind in parts:
            raise DataError(f"{source}: holds {file} twice; keep one of them there")
        if kind == _INDEX:
            parts[kind] = read_table(stream, file, integers=True, columns=1)
        else:
            parts[kind] = interpret_pickle(stream, file)
    for file, kind in names.items():
        if kind not in parts:
            raise DataError(f"{source}: holds no {file}; {_REMEDY}")
    return parts


def _features(value: Any, file: str) -> csr_array:
    """``[rows, F]`` float32, every column of a row once."""
    if isinstance(value, dict) or value.ndim != 2:
        raise DataError(f"{file}: holds no matrix; {_REMEDY}")
    return feature_rows(value if isinstance(value, csr_array) else csr_array(real_numbers(value, file)), file)


def _classes(value: Any, file: str) -> np.ndarray:
    """``[rows]`` the column that is one; -1 where a row has none."""
    if not isinstance(value, np.ndarray) or value.ndim != 2:
        raise DataError(f"{file}: holds no array of one-hot rows; {_REMEDY}")
    one = value == 1
    wrong = ~(one | (value == 0)).all(1) | (one.sum(1) > 1)
    if wrong.any():
        raise DataError(f"{file}: row {int(wrong.argmax())} is not one-hot; {_REMEDY}")
    return np.where(one.any(1), one.argmax(1), -1) if value.shape[1] else np.full(len(value), -1)


def _check_sizes(
    features: dict[str, csr_array],
    classes: dict[str, np.ndarray],
    widths: dict[str, int],
    test: np.ndarray,
    prefix: str,
) -> None:
    """Features, labels and numbers of the same nodes must be as many, and all rows as wide."""
    columns = features["allx"].shape[1]
    for kind, matrix in features.items():
        other = kind.replace("x", "y")
        rows, expected = matrix.shape[0], len(classes[other])
        if rows != expected:
            raise DataError(f"{prefix}.{kind}: has {rows} rows, but {prefix}.{other} has {expected}; {_REMEDY}")
        if matrix.shape[1] != columns:
            raise DataError(f"{prefix}.{kind}: has {matrix.shape[1]} columns, but allx has {columns}; {_REMEDY}")
        if widths[other] != widths["ally"]:
            raise DataError(f"{prefix}.{other}: has {widths[other]} columns, unlike ally; {_REMEDY}")
    if len(test) != len(classes["ty"]):
        raise DataError(f"{prefix}.{_INDEX}: has {len(test)} lines, but ty has {len(classes['ty'])} rows; {_REMEDY}")
    if len(classes["y"]) > len(classes["ally"]):
        raise DataError(f"{prefix}.y: has more rows than ally, which it is a part of; {_REMEDY}")


def _count_nodes(test: np.ndarray, known: int, file: str) -> int:
    """Nodes end with the last one to test on; those of ``allx`` are not among them, and none occurs twice."""
    if (wrong := test < known).any():
        line = int(wrong.argmax())
        raise DataError(f"{file}, line {line + 1}: node {test[line]} is one of the {known} others; {_REMEDY}")
    order = np.argsort(test, kind="stable")
    if (same := test[order[1:]] == test[order[:-1]]).any():
        line = int(order[1:][same].min())
        raise DataError(f"{file}, line {line + 1}: node {test[line]} stands there for the second time; {_REMEDY}")
    last = int(test.max())
    if last + 1 - known - len(test) > MAX_MISSING:
        raise DataError(f"{file}: node {last} leaves out more than {MAX_MISSING} nodes; {_REMEDY}")
    return last + 1


def _edges(graph: Any, num_nodes: int, file: str) -> tuple[np.ndarray, np.ndarray]:
    """From a dictionary of neighbours: ``[R]`` the node that lists, and ``[R]`` the one that it lists."""
    if not isinstance(graph, dict):
        raise DataError(f"{file}: holds no dictionary of neighbours; {_REMEDY}")
    for node, neighbours in graph.items():
        if type(node) is not int or not isinstance(neighbours, list):
            raise DataError(f"{file}: does not list the neighbours of nodes; {_REMEDY}")
    count = sum(map(len, graph.values()))
    try:
        nodes = np.fromiter(graph, np.int64, len(graph))
        end = np.fromiter(chain.from_iterable(graph.values()), np.int64, count)
    except OverflowError:
        raise DataError(f"{file}: a node's number does not fit 64 bits; {_REMEDY}") from None
    check_range(nodes, num_nodes, file, "node")
    begin = np.repeat(nodes, [len(neighbours) for neighbours in graph.values()])
    check_range(end, num_nodes, file, "neighbour")
    return begin, end
