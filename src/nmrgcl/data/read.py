"""Files and folders of one's own → datasets: which reader a path is for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nmrgcl.data.assemble import say_notes
from nmrgcl.data.cache import cached
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.formats.edge_list import read_edge_list
from nmrgcl.data.formats.gml import read_gml
from nmrgcl.data.formats.graphml import read_graphml
from nmrgcl.data.formats.jsonl import read_jsonl
from nmrgcl.data.formats.npz import read_npz
from nmrgcl.data.formats.text import stem
from nmrgcl.data.formats.tu import read_tu, tu_folder
from nmrgcl.data.molecules.archive import ENDING, expand_molecules
from nmrgcl.data.molecules.dataset import Watch, read_as_dataset, write_molecules
from nmrgcl.data.molecules.joined import write_joined
from nmrgcl.data.molecules.recognise import is_table, require_edges
from nmrgcl.data.stored import open_dataset, write_dataset
from nmrgcl.errors import DataError, printable
from nmrgcl.store import MANIFEST


@dataclass(frozen=True)
class Format:
    """One kind of input: how it is recognised, and which options its reader knows."""

    name: str
    matches: Callable[[Path], bool]
    read: Callable[..., Dataset]
    options: frozenset[str] = frozenset({"keep_directions", "name"})


def _ends(*endings: str) -> Callable[[Path], bool]:
    return lambda path: path.is_file() and path.name.lower().endswith(endings)


def _holds(ending: str) -> Callable[[Path], bool]:
    """A file of that ending, or a folder of such files."""
    return lambda path: _ends(ending)(path) or (path.is_dir() and any(path.glob(f"*{ending}")))


def read_molecule_file(path: Path, *, watch: Watch | None = None, **options: Any) -> Dataset:
    """The molecules of a file, which are made graphs once and then kept as a store in the cache."""
    read, write = partial(read_as_dataset, path, **options), partial(write_molecules, path=path, watch=watch, **options)
    return cached(printable(stem(path)), path, read, write=write, options=options)


def read_archive(path: Path, *, watch: Watch | None = None, **options: Any) -> Dataset:
    """The molecules of an archive, which is expanded once to a store in the cache."""
    write = partial(expand_molecules, path=path, watch=watch, **options)
    return cached(printable(stem(path)), path, partial(held, write, str(path)), write=write, options=options)


def held(write: Callable[[Path], None], source: str) -> Dataset:
    """The dataset whose store ``write`` writes, in memory."""
    with TemporaryDirectory() as folder:
        write(Path(folder) / "store")
        dataset = open_dataset(Path(folder) / "store")
        return replace(dataset, held=dataset.graphs, source=source, store=None)


def _edge_list(path: Path, **options: Any) -> Dataset:
    if path.is_file():
        require_edges(path)
    return read_edge_list(path, **options)


MOLECULES = Format("molecules", is_table, read_molecule_file, frozenset({"name", "smiles", "labels", "invalid"}))
ARCHIVE = Format("an archive of molecules", _ends(ENDING), read_archive, frozenset({"name"}))
_WRITERS = {MOLECULES: write_molecules, ARCHIVE: expand_molecules}
"""Formats of which no more than a part need be in memory."""
_ATTRIBUTED = frozenset({"keep_directions", "name", "chosen"})
FORMATS = (
    Format("store", lambda path: (path / MANIFEST).is_file(), open_dataset, frozenset()),
    Format("TU", lambda path: path.is_dir() and tu_folder(path) is not None, read_tu, frozenset({"name"})),
    Format("TU", _ends(".zip", ".tar.xz", ".tar.gz", ".tgz"), read_tu, frozenset({"name"})),
    MOLECULES,
    ARCHIVE,
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
    """Whether a reader recognises the path."""
    return any(format_.matches(path) for format_ in FORMATS)


def read_path(path: Path, *, watch: Watch | None = None, **options: Any) -> Dataset:
    """The dataset at ``path``, by the reader its name and content ask for; options that are None do not count.

    ``watch`` is called with the number of molecules that have been converted to graphs, and of all.
    """
    format_, given = _format_of(path, options)
    dataset = format_.read(path, **given, **({"watch": watch} if format_ in _WRITERS else {}))
    return say_notes(replace(dataset, source=str(path)))


def import_path(path: Path, folder: Path, *, watch: Watch | None = None, **options: Any) -> Dataset:
    """The same dataset, written to a store and read from there; of molecules only a few are in memory at a time."""
    format_, given = _format_of(path, options)
    if format_ in _WRITERS:
        _WRITERS[format_](folder, path, **given, watch=watch)
        return open_dataset(folder)
    dataset = say_notes(format_.read(path, **given))
    write_dataset(folder, dataset)
    return dataset


def import_paths(
    paths: Sequence[Path], folder: Path, *, watch: Watch | None = None, name: str | None = None, **options: Any
) -> Dataset:
    """The dataset at one path or, of several files of molecules, all of them as one, in their order."""
    if len(paths) == 1:
        return import_path(paths[0], folder, watch=watch, name=name, **options)
    datasets = [read_path(path, watch=watch, **options) for path in paths]
    write_joined(folder, datasets, name=name or printable(folder.name), watch=watch)
    return open_dataset(folder)


def _format_of(path: Path, options: dict[str, Any]) -> tuple[Format, dict[str, Any]]:
    """What reads ``path``, and the options that are given, all of which it knows."""
    given = {name: value for name, value in options.items() if value not in (None, False)}
    smiles = MOLECULES if "smiles" in given and path.is_file() else None
    format_ = smiles or next((format_ for format_ in FORMATS if format_.matches(path)), None)
    if format_ is None and path.is_dir():
        raise DataError(f"{path}: holds no graphs that are known here, such as {_ACCEPTED}")
    if format_ is None:  # a file without a telling name may still be an archive
        format_ = Format("TU", Path.is_file, read_tu, frozenset({"name"}))
    for name in given.keys() - format_.options:
        if name == "chosen":
            raise DataError(f"{path}: is read as {format_.name}, where attributes have no names; choose none")
        raise DataError(f"{path}: is read as {format_.name}, which has no {name.replace('_', '-')}; leave it out")
    return format_, given
