"""Files and folders of one's own → datasets: which reader a path is for."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.formats.edge_list import read_edge_list
from nmrgcl.data.formats.gml import read_gml
from nmrgcl.data.formats.graphml import read_graphml
from nmrgcl.data.formats.jsonl import read_jsonl
from nmrgcl.data.formats.npz import read_npz
from nmrgcl.data.formats.tu import read_tu, tu_folder
from nmrgcl.data.stored import open_dataset
from nmrgcl.errors import DataError
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


FORMATS = (
    Format("store", lambda path: (path / MANIFEST).is_file(), open_dataset, frozenset()),
    Format("TU", lambda path: path.is_dir() and tu_folder(path) is not None, read_tu, frozenset({"name"})),
    Format("TU", _ends(".zip", ".tar.xz", ".tar.gz", ".tgz"), read_tu, frozenset({"name"})),
    Format("JSON lines", _ends(".jsonl", ".jsonl.gz", ".ndjson"), read_jsonl),
    Format(
        "edge list",
        lambda path: _ends(".csv")(path) or (path / "edges.csv").is_file(),
        read_edge_list,
        frozenset({"keep_directions", "name", "nodes", "labels"}),
    ),
    Format("GraphML", _holds(".graphml"), read_graphml),
    Format("GML", _holds(".gml"), read_gml),
    Format("npz", _ends(".npz"), read_npz, frozenset({"keep_directions", "name", "features", "labels"})),
)
_ACCEPTED = "a store, a TU folder or archive, .jsonl, .csv, .graphml, .gml or .npz"


def readable(path: Path) -> bool:
    """Whether a reader recognises the path."""
    return any(format_.matches(path) for format_ in FORMATS)


def read_path(path: Path, **options: Any) -> Dataset:
    """The dataset at ``path``, by the reader its name and content ask for; options that are None do not count."""
    given = {name: value for name, value in options.items() if value not in (None, False)}
    for format_ in FORMATS:
        if format_.matches(path):
            for name in given.keys() - format_.options:
                raise DataError(
                    f"{path}: is read as {format_.name}, which has no {name.replace('_', '-')}; leave it out"
                )
            return format_.read(path, **given)
    if path.is_dir():
        raise DataError(f"{path}: holds no graphs that are known here, such as {_ACCEPTED}")
    # A file without a telling name may still be an archive.
    return read_tu(path)
