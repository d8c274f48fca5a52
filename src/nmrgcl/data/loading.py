"""Load a dataset by its name or path."""

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from nmrgcl.data.cache import cached, cached_store
from nmrgcl.data.catalog import CatalogEntry, find, find_tu, require_name
from nmrgcl.data.chosen import ALL, Chosen
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.formats.npz import read_npz
from nmrgcl.data.formats.tu import read_tu
from nmrgcl.data.locate import FileProgress, download, locate, parts_of
from nmrgcl.data.molecules.dataset import Watch
from nmrgcl.data.molecules.joined import write_joined
from nmrgcl.data.motifs import motifs
from nmrgcl.data.published_files import differing_files, published_files, require_files
from nmrgcl.data.read import read_path, readable
from nmrgcl.data.verify import require
from nmrgcl.errors import DataError


def load(
    name_or_path: Any,
    *,
    progress: FileProgress | None = None,
    watch: Watch | None = None,
    chosen: Chosen = ALL,
    directed: bool = False,
    **options: Any,
) -> Dataset:
    """Load a dataset of the catalog or the TU collection, ``motifs``, a store, or graphs from a file or folder.

    Graphs in memory, and options of ``as_dataset``, are passed on to that function.

    The files of a named dataset are searched in the cache (``NMRGCL_HOME``), the mirror (``NMRGCL_MIRROR``) and
    this package, then downloaded. Its files and statistics must match the published ones. The dataset is kept as a
    store in the cache, which the next call opens without reading the graphs.

    ``progress`` is called during downloads, ``watch`` while molecules are converted to graphs.

    Example:
        >>> from nmrgcl import load
        >>> mutag = load("MUTAG")  # comes with the package
        >>> mutag.graphs
        Graphs(188 graphs, 3371 nodes, 7442 directed edges, 1 categorical features, cpu)
    """
    if options or not isinstance(name_or_path, str):
        from nmrgcl.data.accept import as_dataset  # imported here because it calls load for names

        return as_dataset(name_or_path, directed=directed, **options)
    entry = known(name_or_path)
    path = Path(os.path.expanduser(name_or_path))
    if name_or_path and os.path.exists(path):
        # A folder that merely shares the name of a dataset, such as the results of a run, must not hide it.
        named = entry is not None or name_or_path.lower() == "motifs"
        if not (named and path.is_dir() and not readable(path)):
            return read_path(path, watch=watch, keep_directions=directed, chosen=None if chosen == ALL else chosen)
    if directed or chosen != ALL:
        raise DataError(f"{name_or_path}: a published dataset is used unchanged; these options are for your own graphs")
    if entry is not None:
        return load_entry(entry, locate(entry) or download(entry, progress), watch=watch)
    require_name(name_or_path)
    return motifs()


def molecule_file(name_or_path: str) -> Path:
    """Return the file at that path or, if there is none, the file of the molecule dataset of that name."""
    path = Path(os.path.expanduser(name_or_path))
    entry = None if path.exists() else find(name_or_path)
    return path if entry is None or entry.tasks is None else locate(entry) or download(entry)


def known(name: str) -> CatalogEntry | None:
    """Return the catalog entry of a name; other TU datasets get an entry without published numbers."""
    if entry := find(name):
        return entry
    return CatalogEntry(tu, 0, 0, 0, 0) if (tu := find_tu(name)) else None


def load_entry(entry: CatalogEntry, source: Path, *, check: bool = True, watch: Watch | None = None) -> Dataset:
    """Read a dataset from local files; with ``check``, its files and statistics must match the published ones."""
    # For a dataset composed of others, locate returns the file of the first part.
    if entry.parts and source == locate(parts_of(entry)[0]):
        dataset = _joined(entry, source, watch)
    elif entry.tasks is not None:
        dataset = read_path(source, watch=watch, name=entry.name)
    else:
        dataset = _load_files(entry, source, check=check)
    if check and entry.graphs:
        require(dataset, entry)
    return dataset


def _load_files(entry: CatalogEntry, source: Path, *, check: bool) -> Dataset:
    """Read the dataset in ``source`` through the cache, which holds only stores made from published files."""
    if not check and differing_files(entry.name, source):
        return _read(entry, source)

    def read() -> Dataset:
        require_files(entry.name, source)
        return _read(entry, source)

    return cached(entry.name, source, read, options=published_files(entry.name))


def _joined(entry: CatalogEntry, source: Path, watch: Watch | None) -> Dataset:
    """Read a dataset composed of others, whose molecules are stored again in one store of its own."""
    places = [(part, locate(part) or download(part)) for part in parts_of(entry)]
    datasets = [load_entry(part, place, watch=watch) for part, place in places]
    names = ", ".join(str(place) for _, place in places)
    write = partial(write_joined, datasets=datasets, name=entry.name, watch=watch)
    files = [sorted(dataset.store.digests.items()) for dataset in datasets if dataset.store]
    return replace(cached_store(entry.name, source, write, options={"parts": files}), source=names)


def _read(entry: CatalogEntry, source: Path) -> Dataset:
    if entry.format == "planetoid":
        from nmrgcl.data.formats.planetoid import read_planetoid  # imports SciPy, which takes long

        return read_planetoid(source, entry.name)
    if entry.format == "npz":  # PyG and DGL both treat the words in these datasets as present or absent.
        return read_npz(source, name=entry.name, binary=True)
    return read_tu(source, entry.name)
