"""The raw files of the Planetoid citation datasets (Yang et al. 2016), named ``ind.NAME.allx`` and so on.

``allx`` and ``ally`` contain the features and one-hot labels of the first nodes; ``y`` repeats the labels of the
training nodes, as does ``x``, which is not needed. ``tx`` and ``ty`` contain the test nodes, whose numbers are the
lines of ``test.index``. Only the published files are accepted, so their contents need no checks.
"""

from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from nmrgcl.data.assemble import Listing, assemble
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.files.archive import members
from nmrgcl.data.formats.planetoid_pickles import Matrix, read_published, unpickle
from nmrgcl.errors import DataError

VALIDATION = 500
"""Number of validation nodes in the public split, which follow the training nodes."""

_PICKLES = ("tx", "allx", "y", "ty", "ally", "graph")
_INDEX = "test.index"


def read_planetoid(path: Path, name: str, *, keep_directions: bool = False) -> Dataset:
    """Read the dataset ``name``, ignoring case, from a folder, ``.zip``, ``.tar.xz`` or ``.tar.gz``."""
    names = {f"ind.{name.lower()}.{kind}": kind for kind in (*_PICKLES, _INDEX)}
    place = path
    if path.is_dir():
        inner = path / name
        folders = (path, path / "raw", inner, inner / "raw")
        place = next((f for f in folders if any((f / file).is_file() for file in names)), path)
    # All digests are verified before anything is unpickled.
    files: dict[str, bytes] = {}
    for file, stream in members(place, names.__contains__):
        if file in files:
            raise DataError(f"{path}: contains {file} twice; keep one of them")
        files[file] = read_published(stream, file)
    for file in names:
        if file not in files:
            raise DataError(f"{path}: contains no {file}; download the files again")
    parts = {names[file]: data.split() if names[file] == _INDEX else unpickle(data) for file, data in files.items()}
    return assemble(_listing(parts), name, str(path), keep_directions=keep_directions)


def _listing(parts: dict[str, Any]) -> Listing:
    labels = {kind: _classes(parts[kind]) for kind in ("y", "ty", "ally")}
    allx, tx = _features(parts["allx"]), _features(parts["tx"])
    test = np.array(parts[_INDEX], np.int64)
    train, known = len(labels["y"]), len(labels["ally"])
    num_nodes = int(test.max()) + 1
    # CiteSeer's test.index has gaps: isolated nodes with zero features. They have no label here; PyTorch Geometric
    # assigns them to class 0, the argmax of a row of zeros.
    row = np.full(num_nodes, known + len(test))
    row[:known] = np.arange(known)
    row[test] = known + np.arange(len(test))
    nothing = csr_array((1, allx.shape[1]), dtype=np.float32)
    label = np.concatenate([labels["ally"], labels["ty"], [-1]])[row]
    split = np.zeros(num_nodes, np.int8)
    split[:train] = 1
    split[train : min(train + VALIDATION, known)] = 2
    split[test] = 3
    neighbours = parts["graph"]
    counts = [len(listed) for listed in neighbours.values()]
    return Listing(
        sizes=np.array([num_nodes]),
        source=np.repeat(np.fromiter(neighbours, np.int64, len(neighbours)), counts),
        destination=np.fromiter(chain.from_iterable(neighbours.values()), np.int64, sum(counts)),
        node_attributes=vstack([allx, tx, nothing], format="csr")[row],
        y=[None if code < 0 else code for code in label.tolist()],
        level="node",
        public_split=split,
    )


def _features(matrix: Matrix) -> csr_array:
    """Return ``[rows, F]`` float32 features without repeated entries."""
    columns, ends = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    rows = csr_array((matrix.data.astype(np.float32), columns, ends), shape=matrix._shape)
    rows.sum_duplicates()
    return rows


def _classes(one_hot: np.ndarray) -> np.ndarray:
    """Return the ``[rows]`` class of each one-hot row; -1 for a row of zeros."""
    return np.where(one_hot.any(1), one_hot.argmax(1), -1)
