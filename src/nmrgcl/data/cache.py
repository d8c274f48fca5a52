"""Cache datasets as stores under ``NMRGCL_HOME``, so that their files are parsed only once."""

import hashlib
import os
import secrets
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.stored import open_dataset, write_dataset
from nmrgcl.errors import DataError, UserError
from nmrgcl.home import home
from nmrgcl.owned import read_marker
from nmrgcl.store import STORE

READER = 3
"""Bump when a reader change alters the datasets it returns."""


def cached(
    name: str, source: Path, read: Callable[[], Dataset], *, options: Mapping[str, Any] | None = None
) -> Dataset:
    """Return what ``read`` makes of the archive or folder ``source``, from the cache if it is there.

    An entry is identified by ``options`` and the path, size and modification time of each file. A damaged entry is
    replaced. If the cache cannot be written, the dataset is returned uncached.
    """

    def read_and_keep(folder: Path) -> Dataset:
        dataset = read()
        with suppress(UserError, OSError):
            _discard_damaged(folder)
            write_dataset(folder, dataset)
        return dataset

    return _open_or(read_and_keep, name, source, options)


def cached_store(
    name: str, source: Path, write: Callable[[Path], None], *, options: Mapping[str, Any] | None = None
) -> Dataset:
    """Do the same for a dataset that ``write`` writes as a store, without holding all of it in memory."""

    def write_and_open(folder: Path) -> Dataset:
        with suppress(UserError, OSError):  # if the source itself is at fault, writing elsewhere raises again
            _discard_damaged(folder)
            write(folder)
            return replace(open_dataset(folder), source=str(source))
        with TemporaryDirectory() as elsewhere:
            write(Path(elsewhere) / "store")
            dataset = open_dataset(Path(elsewhere) / "store")
            # The temporary store is about to be deleted, so the graphs must be in memory.
            return replace(dataset, held=dataset.graphs, source=str(source), store=None)

    return _open_or(write_and_open, name, source, options)


def _open_or(make: Callable[[Path], Dataset], name: str, source: Path, options: Mapping[str, Any] | None) -> Dataset:
    """Open the entry of ``source``, or ``make`` it if there is none or it is damaged."""
    files = sorted(source.rglob("*")) if source.is_dir() else [source]
    seen = [(os.fspath(file.absolute()), file.stat()) for file in files]
    given = f"{sorted(options.items())} " if options else ""
    known = f"{READER} {name} {given}{[(path, stat.st_size, stat.st_mtime_ns) for path, stat in seen]}"
    # os.fsencode, because a path may contain bytes that are not UTF-8.
    folder = home() / "stores" / f"{name}-{hashlib.sha256(os.fsencode(known)).hexdigest()[:12]}"
    try:
        return replace(open_dataset(folder, lambda: make(folder)), source=str(source))
    except (DataError, OSError):
        return make(folder)


def _discard_damaged(folder: Path) -> None:
    """Remove an entry without a valid manifest; the digest in its name shows that it is ours."""
    # write_dataset would refuse such a folder as somebody else's.
    if folder.exists() and read_marker(folder, STORE) is None:
        aside = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
        os.rename(folder, aside)  # atomic, because other processes may be replacing it too
        shutil.rmtree(aside)
