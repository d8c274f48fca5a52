"""Datasets that took long to read, kept as stores under ``NMRGCL_HOME``."""

import hashlib
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nmrgcl.data.dataset import Dataset, dataset_of
from nmrgcl.errors import DataError
from nmrgcl.store import open_store, write_store

READER = 1
"""To be raised when the same files come to be read differently."""
MIN_EDGES = 200_000
"""Fewer directed edges are read from text in a fraction of a second."""
VERIFY_BYTES = 64 << 20
"""Up to this size a store is compared with its checksums before it is believed."""

_ARRAYS = {
    "node_labels": np.int64,
    "node_attributes": np.float32,
    "edge_labels": np.int64,
    "edge_attributes": np.float32,
}
_NOTES = ("name", "self_loops", "duplicate_edges", "one_way_edges")


def home() -> Path:
    """Where downloads and caches are kept: ``NMRGCL_HOME``, else ``~/.cache/nmrgcl``."""
    return Path(os.path.expanduser(os.environ.get("NMRGCL_HOME") or "~/.cache/nmrgcl"))


def cached(name: str, source: Path, read: Callable[[], Dataset]) -> Dataset:
    """What ``read`` makes of the archive ``source``, or made of it the last time.

    An archive is known by its path, size and time of change. An entry that is damaged is read anew and replaced; where
    nothing can be written nothing is kept.
    """
    if not source.is_file():
        return read()
    seen = source.stat()
    known = f"{READER} {source.absolute()} {seen.st_size} {seen.st_mtime_ns}"
    folder = home() / "stores" / f"{name}-{hashlib.sha256(os.fsencode(known)).hexdigest()[:12]}"
    try:
        return replace(_open(folder), source=str(source))
    except (DataError, OSError, KeyError, TypeError, ValueError):
        dataset = read()
    if dataset.graphs.num_edges >= MIN_EDGES:
        _keep(folder, dataset)
    return dataset


def read_store(folder: Path) -> Dataset:
    """A store of graphs as a dataset, verified: one that a dataset was kept in, or that of any ``Graphs``."""
    store = open_store(folder, verify=True)
    if "classes" in store.meta:
        try:
            return replace(_open(folder), source=str(folder))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{folder}: its notes are not those of a dataset ({error}); write it again") from None
    return dataset_of(store.graphs(), folder.name, str(folder))


def _open(folder: Path) -> Dataset:
    size = sum(file.stat().st_size for file in folder.iterdir())
    store = open_store(folder, verify=size < VERIFY_BYTES)
    arrays: dict[str, Any] = {name: values.astype(_ARRAYS[name]) for name, values in store.extra.items()}
    notes = {name: store.meta[name] for name in _NOTES}
    return Dataset(graphs=store.graphs(), classes=tuple(store.meta["classes"]), **notes, **arrays)


def _keep(folder: Path, dataset: Dataset) -> None:
    extra = {name: values for name in _ARRAYS if (values := getattr(dataset, name)) is not None}
    meta = {"classes": list(dataset.classes), **{name: getattr(dataset, name) for name in _NOTES}}
    try:
        shutil.rmtree(folder, ignore_errors=True)  # a damaged entry
        write_store(folder, dataset.graphs, extra=extra, meta=meta)
    except (DataError, OSError):
        return
