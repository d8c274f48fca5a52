"""A library: a folder of stores, in the order of their names."""

from pathlib import Path

from nmrgcl.errors import DataError
from nmrgcl.store import MANIFEST


def stores_in(folder: Path) -> list[Path]:
    """Return the folders of the stores in ``folder``, by name; hidden folders are unfinished stores."""
    names = (path for path in folder.iterdir() if not path.name.startswith("."))
    return sorted(path for path in names if (path / MANIFEST).is_file())


def is_library(folder: Path) -> bool:
    """Return True if ``folder`` is not a store but contains some."""
    return folder.is_dir() and not (folder / MANIFEST).exists() and bool(stores_in(folder))


def stores_of(path: Path) -> list[Path]:
    """Return ``path`` itself if it is a store, or the stores of a library."""
    if (path / MANIFEST).is_file():
        return [path]
    if found := stores_in(path) if path.is_dir() else []:
        return found
    raise DataError(f"{path}: is neither a store nor a folder of stores; nmrgcl datasets import writes a store")
