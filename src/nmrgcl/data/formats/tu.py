"""The text format of the TU collection (Morris et al. 2020), read from a folder or an archive.

``NAME_A.txt`` lists edges between nodes, and ``NAME_graph_indicator.txt`` the graph of each node; both are numbered
from 1. Labels and attributes are optional; line ``i`` belongs to the i-th node, edge or graph.
"""

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from nmrgcl.data.assemble import Listing, assemble
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.files.archive import Readable, members
from nmrgcl.data.formats.table import read_table
from nmrgcl.errors import DataError

MAX_EMPTY = 1_000_000
"""Largest number of ids that may be skipped if there are no graph labels; more indicate a mistake."""

_COLUMNS = {"A": 2, "graph_indicator": 1, "graph_labels": 1}
_FILE = re.compile(r"([^.].*)_(A|graph_indicator|(?:graph|node|edge)_labels|(?:node|edge)_attributes)\.txt")


def read_tu(path: Path, name: str | None = None) -> Dataset:
    """Read a folder, ``.zip``, ``.tar.xz`` or ``.tar.gz``; ``name`` selects one of several datasets in it."""
    place = tu_folder(path, name) or path if path.is_dir() else path
    return read_tu_files(members(place, lambda file: _kind(file, name) is not None), str(path), name)


def read_tu_files(files: Iterable[tuple[str, Readable]], source: str, name: str | None = None) -> Dataset:
    """Read a dataset from files in the given order; messages refer to all of them as ``source``."""
    name, tables = _read_tables(files, source, name)
    ids, labels = tables["graph_indicator"][:, 0], tables.get("graph_labels")
    sizes = _sizes(ids, f"{name}_graph_indicator.txt", labels, f"{name}_graph_labels.txt")
    listed = tables.pop("A")
    for kind in tables:
        of = {"node": (ids, "graph_indicator"), "edge": (listed, "A")}.get(kind.partition("_")[0])
        if of:
            _check_length(f"{name}_{kind}.txt", len(tables[kind]), f"{name}_{of[1]}.txt", len(of[0]))
    _check_edges(listed, ids, name)
    # A small type, because COLLAB has 25 million edges.
    begin, end = ((listed[:, column] - 1).astype(np.int32) for column in (0, 1))
    del listed, ids
    listing = Listing(
        sizes=sizes,
        source=begin,
        destination=end,
        node_labels=tables.get("node_labels"),
        node_attributes=tables.get("node_attributes"),
        edge_labels=tables.get("edge_labels"),
        edge_attributes=tables.get("edge_attributes"),
        y=None if labels is None else labels[:, 0],
    )
    return assemble(listing, name, source)


def tu_folder(path: Path, name: str | None = None) -> Path | None:
    """Return the folder with TU files: ``path`` itself or its subfolder ``raw``, ``NAME`` or ``NAME/raw``."""
    inner = path / (name or path.name)
    return next((f for f in (path, path / "raw", inner, inner / "raw") if any(f.glob("*_A.txt"))), None)


def _kind(file: str, name: str | None) -> re.Match[str] | None:
    match = _FILE.fullmatch(file)
    return match if match is not None and name in (None, match[1]) else None


def _read_tables(
    files: Iterable[tuple[str, Readable]], source: str, name: str | None
) -> tuple[str, dict[str, np.ndarray]]:
    """Read every file of the dataset in one pass, because seeking in a compressed tar would unpack it again."""
    tables: dict[str, np.ndarray] = {}
    found = name
    for file, stream in files:
        if (match := _kind(file, name)) is None:
            continue
        if found not in (None, match[1]):
            raise DataError(f"{source}: contains two datasets, {found} and {match[1]}; keep one of them")
        found = match[1]
        if match[2] in tables:
            raise DataError(f"{source}: contains {file} twice; keep one of them")
        integers = not match[2].endswith("attributes")
        tables[match[2]] = read_table(stream, file, integers=integers, columns=_COLUMNS.get(match[2]))
    for kind in ("A", "graph_indicator"):
        if found is None or kind not in tables:
            raise DataError(f"{source}: contains no {found or 'NAME'}_{kind}.txt, so it is not a TU dataset")
    assert found is not None
    return found, tables


def _sizes(ids: np.ndarray, file: str, labels: np.ndarray | None, label_file: str) -> np.ndarray:
    """Return the ``[B]`` sizes of graphs; a graph whose id does not occur has no nodes."""
    if (wrong := _first(ids < 1)) is not None:
        raise DataError(f"{file}, line {wrong + 1}: graph id {ids[wrong]}; ids must start at 1")
    if (wrong := _first(np.diff(ids, prepend=1) < 0)) is not None:
        raise DataError(
            f"{file}, line {wrong + 1}: graph id {ids[wrong]} after {ids[wrong - 1]}; "
            "the nodes of a graph must be consecutive and ids must not decrease"
        )
    last = int(ids[-1])
    if labels is not None and last > len(labels):
        wrong = int(np.searchsorted(ids, len(labels), side="right"))
        raise DataError(
            f"{file}, line {wrong + 1}: graph {ids[wrong]} has no label ({len(labels)} lines in {label_file}); "
            "one of the two files is incomplete"
        )
    if labels is not None and last < len(labels):
        raise DataError(
            f"{label_file}, line {last + 1}: a label for graph {last + 1}, but the last graph in {file} is {last}; "
            "one of the two files is incomplete"
        )
    if labels is None and (wrong := _first(ids - np.arange(len(ids)) > MAX_EMPTY)) is not None:
        raise DataError(
            f"{file}, line {wrong + 1}: graph id {ids[wrong]} skips more than {MAX_EMPTY} graphs; "
            "number the graphs consecutively"
        )
    return np.diff(np.searchsorted(ids, np.arange(1, last + 2)))


def _check_length(file: str, rows: int, other: str, expected: int) -> None:
    if rows != expected:
        raise DataError(
            f"{file}, line {min(rows, expected) + 1}: the file has {rows} lines, but {other} has {expected}; "
            "one of the two files is incomplete"
        )


def _check_edges(listed: np.ndarray, ids: np.ndarray, name: str) -> None:
    """Require that edges join existing nodes of the same graph."""
    if listed.min() < 1 or listed.max() > len(ids):
        row, column = (int(i[0]) for i in np.nonzero((listed < 1) | (listed > len(ids))))
        raise DataError(
            f"{name}_A.txt, line {row + 1}: node {listed[row, column]} does not exist ({len(ids)} nodes in "
            f"{name}_graph_indicator.txt); nodes are numbered from 1"
        )
    graph = ids.astype(np.int32)
    wrong = _first(graph[listed[:, 0] - 1] != graph[listed[:, 1] - 1])
    if wrong is not None:
        one, two = listed[wrong]
        raise DataError(
            f"{name}_A.txt, line {wrong + 1}: joins node {one} of graph {ids[one - 1]} and node {two} of graph "
            f"{ids[two - 1]}; both must be in the same graph"
        )


def _first(condition: np.ndarray) -> int | None:
    return int(condition.argmax()) if condition.any() else None
