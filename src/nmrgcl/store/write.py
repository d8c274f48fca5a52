"""Graphs → files."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nmrgcl.atomic import new_folder
from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs
from nmrgcl.store.check import positive
from nmrgcl.store.manifest import EXTRA, FORMAT, MANIFEST, NAME, OPTIONAL, VERSION, array_file, checksum


def write_store(
    folder: Path,
    graphs: Graphs,
    *,
    extra: Mapping[str, np.ndarray] | None = None,
    meta: Mapping[str, Any] | None = None,
) -> None:
    """Write the graphs (a view: what it leaves) to ``folder``, which appears when complete or not at all.

    A store that is there already is replaced, any other folder is refused. ``meta`` is kept as JSON.
    """
    if folder.exists() and not (folder / MANIFEST).is_file():
        raise DataError(f"{folder}: exists and is not a store; choose another place")
    graphs = graphs.compact()
    arrays = _flat(graphs, str(folder))
    for name, values in (extra or {}).items():
        if not NAME.fullmatch(name):
            raise DataError(f"{folder}: an array cannot be called {name!r}; use letters, digits, _ and -")
        arrays[EXTRA + name] = np.asarray(values)
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "graphs": graphs.num_graphs,
        "nodes": graphs.num_nodes,
        "edges": graphs.num_edges,
        "num_features": graphs.num_features,
        "symmetric": graphs.symmetric,
        "y_level": graphs.y_level,
        "meta": dict(meta or {}),
    }
    manifest = json.loads(json.dumps(manifest))  # as it will be read; fails before anything is written
    try:
        with new_folder(folder) as filling:
            manifest["arrays"] = {name: _write(array_file(filling, name), values) for name, values in arrays.items()}
            manifest["checksum"] = checksum(manifest)
            (filling / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise DataError(f"{folder}: cannot be written ({error.strerror}); choose another place or make room") from None


def _flat(graphs: Graphs, place: str) -> dict[str, np.ndarray]:
    graphs = graphs.to("cpu")
    source, destination = graphs.edge_index
    degree, edge_ptr = graphs.row_ptr.diff(), graphs.edge_ptr
    if not torch.equal(destination, torch.repeat_interleave(degree)):
        raise DataError(f"{place}: the edges are not sorted by destination; make the graphs with Graphs.build")
    if not positive(graphs):
        raise DataError(f"{place}: an edge weight is not a positive number; leave such edges out")
    owner = graphs.batch[destination]
    tensors = {
        "node_ptr": graphs.node_ptr,
        "edge_ptr": edge_ptr,
        "degree": degree,
        "source": source - graphs.node_ptr[owner],
        "pair": graphs.pair - edge_ptr[owner],
        "x": graphs.x,
        **{name: getattr(graphs, name) for name in OPTIONAL},
    }
    try:
        return {name: tensor.detach().numpy() for name, tensor in tensors.items() if tensor is not None}
    except TypeError:  # bfloat16
        raise DataError(f"{place}: a tensor has a type that numpy lacks; convert it to float32") from None


def _write(path: Path, values: np.ndarray) -> dict[str, Any]:
    if values.dtype.kind not in "biuf" or values.dtype.itemsize > 8:
        raise DataError(f"{path.name}: values of type {values.dtype} cannot be stored; convert them to numbers")
    small = np.ascontiguousarray(values, dtype=_smallest(values).newbyteorder("<"))
    path.write_bytes(small.reshape(-1).data)  # not by tofile, whose errors do not say why
    return {
        "dtype": small.dtype.str,
        "memory": values.dtype.newbyteorder("<").str,
        "shape": list(values.shape),
        "bytes": small.nbytes,
        "sha256": hashlib.sha256(small.reshape(-1).data).hexdigest(),
    }


def _smallest(values: np.ndarray) -> np.dtype:
    """The smallest integer type for these values; unsigned where none is negative."""
    if values.dtype.kind not in "iu":
        return values.dtype
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    kind = "i" if low < 0 else "u"
    sizes = (np.dtype(f"{kind}{size}") for size in (1, 2, 4, 8))
    return next(t for t in sizes if np.iinfo(t).min <= low and high <= np.iinfo(t).max)
