"""Read GML and GraphML: a single file, or all files of a folder in natural order."""

import errno
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from nmrgcl import reading
from nmrgcl.data.assemble import assemble
from nmrgcl.data.chosen import ALL, Chosen
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.files.archive import MAX_BYTES
from nmrgcl.data.formats.attributed import AttributedGraph, file_names, listing
from nmrgcl.data.formats.text import stem
from nmrgcl.errors import DataError, printable

Parse = Callable[[str, bytes], list[AttributedGraph]]
"""Returns the graphs of a file, given its name and content."""

_DIGITS = re.compile(r"([0-9]+)")


def read_graph_files(
    path: Path,
    ending: str,
    parse: Parse,
    *,
    name: str | None = None,
    keep_directions: bool = False,
    chosen: Chosen = ALL,
) -> Dataset:
    """Read the graphs of a file, or of all files with this ending in a folder, g2 before g10."""
    files = _graph_files(path, ending)
    name = name or stem(path)
    return read_contents(files, str(path), parse, name=name, keep_directions=keep_directions, chosen=chosen)


def read_contents(
    files: Iterable[tuple[str, bytes]],
    source: str,
    parse: Parse,
    *,
    name: str = "graphs",
    keep_directions: bool = False,
    chosen: Chosen = ALL,
) -> Dataset:
    """Read the graphs from file names and contents; messages refer to all of them as ``source``."""
    graphs = [graph for file, content in files for graph in parse(file, content)]
    if not graphs:
        raise DataError(f"{source}: contains no graph; check that the file is complete")
    listed = replace(listing(graphs, chosen), graph_ids=file_names(graphs))
    return assemble(listed, name, source, keep_directions=keep_directions)


def natural(name: str) -> list[tuple[int, int, str]]:
    """Return a sort key that orders digits by the numbers they spell."""
    # Numbers are compared by their length first, because Python refuses to convert thousands of digits.
    parts = ((part, part.lstrip("0")) for part in _DIGITS.split(name))
    return [(len(bare), 1, bare) if i % 2 else (0, 0, part) for i, (part, bare) in enumerate(parts)] + [(0, 0, name)]


def _graph_files(path: Path, ending: str) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the file, or of every file in the folder with this ending."""
    left, place = MAX_BYTES, path
    try:
        for place in _found(path, ending) if os.path.isdir(path) else [path]:
            content = reading.read_bytes(place, left)
            left -= len(content)
            yield printable(place.name), content
    except OSError as error:
        why = f"cannot be read ({error.strerror})"
        if error.errno == errno.EFBIG:
            why = f"exceeds the limit of {MAX_BYTES >> 30} GiB for a dataset; split the dataset"
        raise DataError(f"{printable(str(place))}: {why}") from None


def _found(path: Path, ending: str) -> list[Path]:
    names = [name for name in os.listdir(path) if name.lower().endswith(ending) and not name.startswith(".")]
    if not names:
        raise DataError(f"{printable(str(path))}: contains no {ending} file; pass a file or another folder")
    return [path / name for name in sorted(names, key=natural)]
