"""A file of molecules → a dataset: in memory, or written to a store a few thousand molecules at a time."""

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.formats.csv_file import arrow
from nmrgcl.data.formats.text import stem
from nmrgcl.data.molecule_rows import LISTED, Invalid, MoleculeRows, class_codes, is_binary
from nmrgcl.data.molecules.read import MoleculeListing, list_molecules, names_column, read_molecules, refusal
from nmrgcl.data.molecules.scaffolds import numbered, scaffolds
from nmrgcl.data.molecules.smiles import AT_A_TIME, MANY, featurise_in_parts
from nmrgcl.data.stored_molecules import MOLECULES, molecule_arrays, molecule_notes
from nmrgcl.data.texts import Texts
from nmrgcl.errors import printable
from nmrgcl.graphs import Graphs
from nmrgcl.store import write_store

Watch = Callable[[int, int], None]
"""Called with the molecules that are done, and how many there are."""


def read_as_dataset(
    path: Path, *, name: str | None = None, labels: Sequence[str] | Path | None = None, **options: Any
) -> Dataset:
    """The molecules of a file with all their graphs in memory; ``options`` are those of ``read_molecules``."""
    found = read_molecules(path, labels=_columns(labels), **options)
    named = names_column(found.columns)
    rows = MoleculeRows(
        smiles=Texts.of(found.smiles),
        lines=found.lines,
        targets=found.labels,
        tasks=found.tasks,
        names=None if named is None else _texts(found.columns[named]),
        rows=len(found) + len(found.invalid),
        invalid=found.invalid[:LISTED],
        scaffolds=_scaffolds(found.smiles, found.tasks),
    )
    graphs = found.graphs
    if rows.binary:
        graphs = replace(graphs, y=torch.from_numpy(class_codes(rows.targets)))
    classes = (0, 1) if rows.binary else ()
    return Dataset(name or found.name, graphs, classes, source=found.source, molecules=rows)


def write_molecules(
    folder: Path,
    path: Path,
    *,
    name: str | None = None,
    smiles: str | None = None,
    labels: Sequence[str] | Path | None = None,
    invalid: str = "skip",
    watch: Watch | None = None,
) -> None:
    """Write the store of the same dataset; the table is in memory, of the graphs only a few thousand are."""
    listing = list_molecules(path, smiles=smiles, labels=_columns(labels), invalid=invalid)
    maker = _Maker(listing, strict=invalid == "error", watch=watch)
    classes = [0, 1] if maker.binary else []
    meta: dict[str, Any] = {"name": name or printable(stem(listing.path)), "level": "graph", "classes": classes}
    meta |= dict.fromkeys(("self_loops", "duplicate_edges", "one_way_edges"), 0)
    write_store(folder, maker.parts(), meta=meta, afterwards=maker.rest)


class _Maker:
    """Makes the graphs, and keeps count of the rows that are none."""

    def __init__(self, listing: MoleculeListing, *, strict: bool, watch: Watch | None) -> None:
        self.listing, self.strict, self.watch = listing, strict, watch
        self.binary = is_binary(listing.labels)
        self.valid = np.ones(len(listing), bool)
        self.invalid: list[Invalid] = []

    def parts(self) -> Iterator[Graphs]:
        """All valid molecules."""
        total, first = len(self.listing), 0
        jobs = 1 if total < MANY else -1
        for graphs, bad in featurise_in_parts(self.listing.parts(AT_A_TIME), jobs=jobs):
            rows = slice(first, first + len(graphs) + len(bad))
            self.valid[[one.row for one in bad]] = False
            self.invalid += [self.listing.located(one) for one in bad[: LISTED - len(self.invalid)]]
            if bad and self.strict:
                raise refusal(self.invalid[0], 1, total, self.listing.path)
            if self.binary:
                y = class_codes(self.listing.labels[rows][self.valid[rows]])
                graphs = replace(graphs, y=torch.from_numpy(y))
            first = rows.stop
            yield graphs
            if self.watch is not None:
                self.watch(first, total)
        if not self.valid.any():
            raise refusal(self.invalid[0], total, total, self.listing.path)

    def rest(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """What the store keeps beside the graphs."""
        columns, valid = self.listing.table.columns, np.flatnonzero(self.valid)
        named = names_column(columns)
        smiles = _texts(columns[self.listing.smiles].take(valid))
        rows = MoleculeRows(
            smiles=smiles,
            lines=self.listing.table.lines[valid],
            targets=self.listing.labels[valid],
            tasks=self.listing.tasks,
            names=None if named is None else _texts(columns[named].take(valid)),
            rows=len(self.listing),
            invalid=tuple(self.invalid),
            scaffolds=_scaffolds(smiles, self.listing.tasks),
        )
        return molecule_arrays(rows), {MOLECULES: molecule_notes(rows)}


def _scaffolds(smiles: Sequence[str], tasks: Sequence[str]) -> np.ndarray | None:
    """Of molecules to learn from, unless there are many: a machine without RDKit can then split them."""
    return numbered(scaffolds(smiles)) if tasks and len(smiles) < MANY else None


def _texts(column: Any) -> Texts:
    """The cells of a column of any type, without making them Python's."""
    pyarrow = arrow()
    if not (pyarrow.types.is_binary(column.type) or pyarrow.types.is_large_binary(column.type)):
        column = column.cast(pyarrow.large_string())
    cells = column.cast(pyarrow.large_binary()).fill_null(b"").combine_chunks()
    _, offsets, data = cells.buffers()
    ends = np.frombuffer(offsets, np.int64)[cells.offset : cells.offset + len(cells) + 1]
    return Texts(np.frombuffer(data or b"", np.uint8)[ends[0] : ends[-1]], np.diff(ends))


def _columns(labels: Sequence[str] | Path | None) -> Sequence[str] | None:
    """A command has them as one text, separated by commas and quoted as in CSV."""
    return next(csv.reader([str(labels)], skipinitialspace=True)) if isinstance(labels, Path) else labels
