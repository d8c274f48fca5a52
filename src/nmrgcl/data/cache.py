"""Datasets read once: each is kept as a store under ``NMRGCL_HOME``, which later calls open."""

import hashlib
import os
import secrets
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.stored import open_dataset, write_dataset
from nmrgcl.errors import DataError, UserError
from nmrgcl.home import home
from nmrgcl.owned import read_marker
from nmrgcl.store import STORE

READER = 2
"""To be raised when the same files come to be read differently."""


def cached(
    name: str,
    source: Path,
    read: Callable[[], Dataset],
    *,
    write: Callable[[Path], None] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Dataset:
    """What ``read`` makes of the archive or folder ``source`` with these ``options``, or made of it the last time.

    ``write`` writes the store of the same dataset, without ever holding all of it in memory.

    Files are known by their path, size and time of change. An entry that is damaged is read anew and replaced; where
    nothing can be written nothing is kept.
    """
    files = sorted(source.rglob("*")) if source.is_dir() else [source]
    seen = [(os.fspath(file.absolute()), file.stat()) for file in files]
    given = f"{sorted(options.items())} " if options else ""
    known = f"{READER} {name} {given}{[(path, stat.st_size, stat.st_mtime_ns) for path, stat in seen]}"
    folder = home() / "stores" / f"{name}-{hashlib.sha256(os.fsencode(known)).hexdigest()[:12]}"

    def read_and_keep() -> Dataset:
        dataset = None if write is not None else read()
        try:
            if folder.exists() and read_marker(folder, STORE) is None:
                _discard(folder)
            if dataset is not None:
                write_dataset(folder, dataset)
            elif write is not None:
                write(folder)
                return replace(open_dataset(folder), source=str(source))
        except (UserError, OSError):  # nothing can be kept; if it is about the files, reading says so again
            pass
        return read() if dataset is None else dataset

    try:
        return replace(open_dataset(folder, read_and_keep), source=str(source))
    except (DataError, OSError):
        return read_and_keep()


def _discard(folder: Path) -> None:
    """Remove a damaged entry. Its name ends with our digest, so that it is ours even without a manifest."""
    aside = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
    os.rename(folder, aside)  # at once, since other processes may be about to replace it, too
    shutil.rmtree(aside)
