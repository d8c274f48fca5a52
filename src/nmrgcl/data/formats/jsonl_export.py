"""Export a dataset as JSON Lines, from which ``read_jsonl`` restores it.

An undirected edge is written once, or in both directions if their labels or attributes differ. Directed graphs need
``keep_directions`` to be read back. The public split and the counts of removed edges are not exported.
"""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from scipy.sparse import csr_array

from nmrgcl import atomic
from nmrgcl.data.categories import Categories
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.edges import edge_key
from nmrgcl.data.formats.classes import json_label
from nmrgcl.data.formats.text import MAX_LINE
from nmrgcl.errors import DataError, writing
from nmrgcl.graphs import Graphs

_NUMBERS_AT_ONCE = 1 << 16
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def write_jsonl(dataset: Dataset, path: Path) -> None:
    """Write one line per graph, gzipped if ``path`` ends in ``.gz``; the file appears complete or not at all."""
    if dataset.molecules is not None:
        raise DataError(f"{dataset.name}: molecules cannot be exported as JSON Lines; use nmrgcl datasets pack")
    with writing(path), atomic.new_file(path) as file:
        if path.suffix == ".gz":
            with gzip.GzipFile(fileobj=file, mode="wb", filename="", compresslevel=6, mtime=0) as packed:
                _write(dataset, cast(IO[bytes], packed))
        else:
            _write(dataset, file)


def directed(graphs: Graphs) -> bool:
    """Return True if an edge has no reverse, or one of different weight."""
    if not graphs.symmetric or graphs.edge_weight is None:
        return not graphs.symmetric
    weight = graphs.edge_weight.numpy()
    return not np.array_equal(weight, weight[_reverse(graphs)])


def _reverse(graphs: Graphs) -> np.ndarray:
    """Return the ``[E]`` index of each edge's reverse: sorting by source first puts an edge where its reverse is."""
    source, destination = graphs.edge_index.numpy()
    return np.argsort(edge_key(destination, source, graphs.num_nodes), kind="stable")


def _write(dataset: Dataset, file: IO[bytes]) -> None:
    if not dataset.graphs.num_graphs:
        raise DataError(f"{dataset.name}: there are no graphs to export")
    for label in dataset.classes:
        try:
            json_label(label)
        except ValueError as error:
            raise DataError(f"{dataset.name}: {error}") from None
    for number, pieces in enumerate(_lines(dataset)):
        length = 0
        for piece in pieces:
            data = piece.encode()
            length += file.write(data)
            if length > MAX_LINE:
                raise DataError(
                    f"{dataset.name}: graph {number} would take a line of more than {MAX_LINE >> 20} MiB; "
                    "keep it as .npz or as a store"
                )


def _lines(dataset: Dataset) -> Iterator[Iterator[str]]:
    """Yield each graph as pieces of text, so that a large one is never in memory as Python numbers."""
    graphs = dataset.graphs
    rows = np.flatnonzero(_written(dataset))
    node_ptr = graphs.node_ptr.numpy()
    edge_ptr = np.searchsorted(rows, graphs.edge_ptr.numpy())
    ends = graphs.edge_index.numpy().T
    weight = None if graphs.edge_weight is None else graphs.edge_weight.numpy()
    about_nodes = {"x": dataset.node_attributes, "node_labels": dataset.node_labels}
    about_edges = {"edge_attr": dataset.edge_attributes, "edge_labels": dataset.edge_labels, "edge_weight": weight}
    labels = [*dataset.classes, None]  # a missing label has the index -1
    codes = None if dataset.y is None else dataset.y.tolist()
    for graph, (start, stop) in enumerate(zip(node_ptr[:-1].tolist(), node_ptr[1:].tolist(), strict=True)):
        chosen = rows[edge_ptr[graph] : edge_ptr[graph + 1]]
        entries: dict[str, Iterator[str]] = {"num_nodes": iter([str(stop - start)])}
        if dataset.graph_ids is not None:
            entries["id"] = iter([_encode(dataset.graph_ids[graph])])
        if dataset.node_ids is not None:
            entries["node_ids"] = iter([_encode(list(dataset.node_ids))])
        entries["edges"] = _texts(ends[chosen] - start)
        for key, values in about_nodes.items():
            if values is not None and values.shape[0] and values.shape[1]:
                entries[key] = _texts(values[start:stop])
        if dataset.categories is not None:
            entries["node_categories"] = iter([_encode(_by_name(dataset.categories, start, stop))])
        for key, values in about_edges.items():
            if values is not None and values.size:
                entries[key] = _texts(values[chosen])
        if codes is not None:
            of_nodes = dataset.level == "node"
            entries["y"] = iter([_encode([labels[code] for code in codes] if of_nodes else labels[codes[graph]])])
        yield _line(entries)


def _by_name(categories: Categories, start: int, stop: int) -> dict[str, list[int | str | None]]:
    """Return the values of some nodes by name; a missing one, with the code -1, is None."""
    columns = zip(categories.names, categories.values, categories.codes[start:stop].T.tolist(), strict=True)
    return {name: [(*values, None)[code] for code in codes] for name, values, codes in columns}


def _line(entries: dict[str, Iterator[str]]) -> Iterator[str]:
    for place, (key, pieces) in enumerate(entries.items()):
        yield f'{"," if place else "{"}"{key}":'
        yield from pieces
    yield "}\n"


def _texts(values: np.ndarray | csr_array) -> Iterator[str]:
    """Yield a JSON list, some thousand numbers at a time; rows of one number become plain numbers."""
    count = values.shape[0]
    step = max(1, _NUMBERS_AT_ONCE // (values.shape[1] if values.ndim > 1 else 1))
    yield "["
    for start in range(0, count, step):
        part: Any = values[start : start + step]
        part = part if isinstance(part, np.ndarray) else part.toarray()
        part = part[:, 0] if part.ndim > 1 and part.shape[1] == 1 else part
        numbers = _shortest(part) if part.dtype == np.float32 else part
        yield ("," if start else "") + _encode(numbers.tolist())[1:-1]
    yield "]"


def _shortest(values: np.ndarray) -> np.ndarray:
    """Return the shortest 64-bit numbers that round to these 32-bit ones: 0.1, not 0.10000000149011612."""
    bits, place = np.unique(np.ascontiguousarray(values).view(np.int32), return_inverse=True)
    single = bits.view(np.float32)
    double = np.fromiter((float(str(number)) for number in single), np.float64, len(single))
    # Rounding twice may give a neighbouring number; all digits are written then.
    double = np.where(double.astype(np.float32) == single, double, single)
    return double[place].reshape(values.shape)


def _written(dataset: Dataset) -> np.ndarray:
    """Return the ``[E]`` mask of the directed edges to write."""
    source, destination = dataset.graphs.edge_index.numpy()
    if directed(dataset.graphs):
        return np.ones(len(source), bool)
    reverse = _reverse(dataset.graphs)
    written = source <= destination
    for values in (dataset.edge_labels, dataset.edge_attributes):
        if values is not None and values.size:
            signs = np.signbit(values)  # 0 and -0 compare equal, but must both be kept
            differ = (values != values[reverse]) | (signs != signs[reverse])
            written |= differ.reshape(len(written), -1).any(1)
    return written
