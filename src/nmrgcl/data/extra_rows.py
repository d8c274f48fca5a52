"""Which rows of a store's extra arrays belong to which graphs, so that datasets can be split and merged."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nmrgcl.data.stored_molecules import LINES, SCAFFOLDS
from nmrgcl.errors import DataError
from nmrgcl.store import Store, open_store
from nmrgcl.store.manifest import EXTRA

AT_A_TIME = 1 << 20
"""Number of rows of an extra array in memory at a time."""
_AXES = {
    **dict.fromkeys(("node_labels", "node_attributes", "public_split", "categories", "node_ids_lengths"), "node"),
    **dict.fromkeys(("edge_labels", "edge_attributes"), "edge"),
    **dict.fromkeys(("graph_ids_lengths", "molecules.smiles_lengths", "molecules.names_lengths"), "graph"),
    **dict.fromkeys((LINES, "molecules.targets", SCAFFOLDS), "graph"),
}
"""The rows of these arrays are counted like graphs, nodes or edges."""
_TEXTS = ("graph_ids", "node_ids", "molecules.smiles", "molecules.names")
_SPARSE, _ROW_ENDS = ("node_attributes.data", "node_attributes.indices"), "node_attributes.indptr"


class Piece(NamedTuple):
    """The graphs ``first`` … ``last - 1`` of the store in ``folder``, which is open only while it is read.

    Each array of an open store takes a file descriptor, of which a process has about a thousand.
    """

    folder: Path
    first: int
    last: int


def extra_parts(pieces: Sequence[Piece], *, continued: bool) -> dict[str, Iterator[np.ndarray]]:
    """Return every extra array of the ``pieces`` one after another, each in parts.

    ``continued`` says that the pieces are consecutive pieces of one dataset. If not, line numbers go on from piece to
    piece, and scaffolds, which are numbered per dataset, are left out.
    """
    names = [name for name in open_store(pieces[0].folder).extra if continued or name != SCAFFOLDS]
    return {name: _parts(pieces, name, continued) for name in names}


def _parts(pieces: Sequence[Piece], name: str, continued: bool) -> Iterator[np.ndarray]:
    if name == _ROW_ENDS:
        yield from _row_ends(pieces)
        return
    line = 0
    for folder, first, last in pieces:
        store = open_store(folder)
        start, end = _span(store, first, last, name)
        values, memory = store.extra[name], store.types[EXTRA + name]
        # Even without rows there is one part, from which write_store learns type and width.
        for at in range(start, max(end, start + 1), AT_A_TIME):
            part = values[at : min(at + AT_A_TIME, end)].astype(memory, copy=False)
            if name == LINES and at == start and len(part):  # Lines are stored as differences.
                # The first step of a store counts from line 0: a piece of a store adds the steps before it, and a shard
                # subtracts the lines of the shards before it.
                before = int(values[:start].sum(dtype=np.int64)) - (line if continued else 0)
                part = np.concatenate([part[:1] + before, part[1:]]).astype(memory, copy=False)
            line += int(part.sum(dtype=np.int64)) if name == LINES else 0
            yield part


def _span(store: Store, first: int, last: int, name: str) -> tuple[int, int]:
    """Return where the rows of the graphs ``first`` … ``last - 1`` begin and end in the extra array ``name``."""
    if name in _AXES:
        if _AXES[name] == "graph":
            return first, last
        pointers = store.arrays[f"{_AXES[name]}_ptr"]
        return int(pointers[first]), int(pointers[last])
    if name in _TEXTS:
        lengths = store.extra[f"{name}_lengths"]
        start, end = _span(store, first, last, f"{name}_lengths")
        before = int(lengths[:start].sum(dtype=np.int64))
        return before, before + int(lengths[start:end].sum(dtype=np.int64))
    if name in _SPARSE:
        start, end = _span(store, first, last, "node_attributes")
        return int(store.extra[_ROW_ENDS][start]), int(store.extra[_ROW_ENDS][end])
    told = f"{store.folder}: the array {name!r} belongs neither to graphs, nor to nodes, nor to edges"
    raise DataError(f"{told}; write the store without it")


def _row_ends(pieces: Sequence[Piece]) -> Iterator[np.ndarray]:
    """Return the row pointers of sparse attributes, of which each piece starts where the previous one ended."""
    memory, done = open_store(pieces[0].folder).types[EXTRA + _ROW_ENDS], 0
    yield np.zeros(1, memory)
    for folder, first, last in pieces:
        store = open_store(folder)
        pointers = store.extra[_ROW_ENDS]
        start, end = _span(store, first, last, "node_attributes")
        base = int(pointers[start])
        for at in range(start, end, AT_A_TIME):
            part = pointers[at + 1 : min(at + AT_A_TIME, end) + 1].astype(np.int64)
            yield (part - base + done).astype(memory)
        done += int(pointers[end]) - base
