"""Read a user's files and folders: choose the reader that matches a path."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from nmrgcl.data.assemble import say_notes
from nmrgcl.data.cache import cached_store
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.formats.edge_list import read_edge_list
from nmrgcl.data.formats.gml import read_gml
from nmrgcl.data.formats.graphml import read_graphml
from nmrgcl.data.formats.jsonl import read_jsonl
from nmrgcl.data.formats.npz import read_npz
from nmrgcl.data.formats.text import stem
from nmrgcl.data.formats.tu import read_tu, tu_folder
from nmrgcl.data.molecules.archive import ENDING, expand_molecules
from nmrgcl.data.molecules.dataset import Watch, write_molecules
from nmrgcl.data.molecules.joined import write_joined
from nmrgcl.data.molecules.recognise import is_table, require_edges
from nmrgcl.data.stored import open_dataset, write_dataset
from nmrgcl.errors import DataError, printable
from nmrgcl.store import MANIFEST


@dataclass(frozen=True)
class Format:
    """An input format: how to recognise it, which options its reader accepts, and the reader.

    Molecules are not read but written, by ``write(folder, path, **options)``, as a store: converting them to graphs
    takes long, and only a few thousand graphs need to be in memory at a time.
    """

    name: str
    matches: Callable[[Path], bool]
    read: Callable[..., Dataset] | None = None
    options: frozenset[str] = frozenset({"keep_directions", "name"})
    write: Callable[..., None] | None = None


def _ends(*endings: str) -> Callable[[Path], bool]:
    return lambda path: path.is_file() and path.name.lower().endswith(endings)


def _holds(ending: str) -> Callable[[Path], bool]:
    """Match a file with this ending, or a folder of such files."""
    return lambda path: _ends(ending)(path) or (path.is_dir() and any(path.glob(f"*{ending}")))


def _edge_list(path: Path, **options: Any) -> Dataset:
    if path.is_file():
        require_edges(path)
    return read_edge_list(path, **options)


MOLECULES = Format(
    "molecules", is_table, options=frozenset({"name", "smiles", "labels", "invalid"}), write=write_molecules
)
_ATTRIBUTED = frozenset({"keep_directions", "name", "chosen"})
FORMATS = (
    Format("store", lambda path: (path / MANIFEST).is_file(), open_dataset, frozenset()),
    Format("TU", lambda path: path.is_dir() and tu_folder(path) is not None, read_tu, frozenset({"name"})),
    Format("TU", _ends(".zip", ".tar.xz", ".tar.gz", ".tgz"), read_tu, frozenset({"name"})),
    # Before the edge list, which takes every .csv file; this one looks into its header.
    MOLECULES,
    Format("an archive of molecules", _ends(ENDING), options=frozenset({"name"}), write=expand_molecules),
    Format("JSON lines", _ends(".jsonl", ".jsonl.gz", ".ndjson"), read_jsonl),
    Format(
        "edge list",
        lambda path: _ends(".csv")(path) or (path / "edges.csv").is_file(),
        _edge_list,
        frozenset({"keep_directions", "name", "nodes", "labels", "chosen"}),
    ),
    Format("GraphML", _holds(".graphml"), read_graphml, _ATTRIBUTED),
    Format("GML", _holds(".gml"), read_gml, _ATTRIBUTED),
    Format("npz", _ends(".npz"), read_npz, frozenset({"keep_directions", "name", "features", "labels"})),
)
_ACCEPTED = (
    "a store, a TU folder or archive, .jsonl, .csv, .graphml, .gml, .npz, or .smi, .sdf, .tsv, .parquet or .molecules"
)


def readable(path: Path) -> bool:
    """Return True if some reader recognises the path."""
    return any(format_.matches(path) for format_ in FORMATS)


def read_path(path: Path, *, watch: Watch | None = None, **options: Any) -> Dataset:
    """Read the dataset at ``path`` with the reader that its name and content call for; options of None are ignored.

    ``watch`` is called with the number of molecules converted to graphs so far, and their total number.
    """
    format_, given = _format_of(path, options)
    if format_.read is not None:
        return say_notes(replace(format_.read(path, **given), source=str(path)))
    assert format_.write is not None
    write = partial(format_.write, path=path, watch=watch, **given)
    return cached_store(printable(stem(path)), path, write, options=given)


def import_path(path: Path, folder: Path, *, watch: Watch | None = None, **options: Any) -> Dataset:
    """Write the dataset at ``path`` to a store and return it; molecules are converted a few thousand at a time."""
    format_, given = _format_of(path, options)
    if format_.write is not None:
        format_.write(folder, path, **given, watch=watch)
        return open_dataset(folder)
    assert format_.read is not None
    dataset = say_notes(format_.read(path, **given))
    write_dataset(folder, dataset)
    return dataset


def import_paths(
    paths: Sequence[Path], folder: Path, *, watch: Watch | None = None, name: str | None = None, **options: Any
) -> Dataset:
    """Import one path or, joined into one dataset in the given order, several files of molecules."""
    if len(paths) == 1:
        return import_path(paths[0], folder, watch=watch, name=name, **options)
    datasets = [read_path(path, watch=watch, **options) for path in paths]
    write_joined(folder, datasets, name=name or printable(folder.name), watch=watch)
    return open_dataset(folder)


def _format_of(path: Path, options: dict[str, Any]) -> tuple[Format, dict[str, Any]]:
    """Return the format of ``path`` and the given options; raise if its reader does not accept one of them."""
    # A flag that is off is no option given: formats that do not have it need not refuse it.
    given = {name: value for name, value in options.items() if value not in (None, False)}
    smiles = MOLECULES if "smiles" in given and path.is_file() else None
    format_ = smiles or next((format_ for format_ in FORMATS if format_.matches(path)), None)
    if format_ is None and path.is_dir():
        raise DataError(f"{path}: contains no graphs in a known format; known: {_ACCEPTED}")
    if format_ is None:  # a file with an unknown ending may still be an archive
        format_ = Format("TU", Path.is_file, read_tu, frozenset({"name"}))
    for name in given.keys() - format_.options:
        if name == "chosen":
            raise DataError(f"{path}: attributes in the format {format_.name} have no names, so none can be chosen")
        raise DataError(f"{path}: the format {format_.name} has no option {name.replace('_', '-')}; leave it out")
    return format_, given
