"""Convert a file of molecules to a store, a few thousand molecules at a time."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nmrgcl.data.formats.text import stem
from nmrgcl.data.molecule_rows import LISTED, Invalid, MoleculeRows, class_codes, is_binary
from nmrgcl.data.molecules.columns import as_bytes, identifiers
from nmrgcl.data.molecules.read import MoleculeListing, list_molecules, refusal
from nmrgcl.data.molecules.scaffolds import numbered, scaffolds
from nmrgcl.data.molecules.smiles import AT_A_TIME, MANY, featurise_in_parts
from nmrgcl.data.stored_molecules import MOLECULES, dataset_meta, molecule_arrays, molecule_notes
from nmrgcl.data.texts import Texts
from nmrgcl.errors import printable
from nmrgcl.graphs import Graphs
from nmrgcl.store import write_store

Watch = Callable[[int, int], None]
"""Called with the number of molecules done, and the total."""


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
    """Write the molecules of the file ``path`` to a store; see ``read_molecules`` for the options.

    ``labels`` may also be the argument of a command: a list of columns separated by commas and quoted as in CSV.
    """
    named = str(labels) if isinstance(labels, Path) else labels
    listing = list_molecules(path, smiles=smiles, labels=named, invalid=invalid)
    jobs = 1 if len(listing) < MANY else -1
    write_listing(folder, listing, name=name, strict=invalid == "error", jobs=jobs, watch=watch)


def write_listing(
    folder: Path,
    listing: MoleculeListing,
    *,
    name: str | None,
    strict: bool,
    jobs: int,
    watch: Watch | None = None,
    notes: Mapping[str, Any] | None = None,
    token: str = "",
) -> None:
    """Write the molecules of ``listing`` to a store with additional metadata ``notes``, converting them with ``jobs``.

    If ``strict``, an invalid row is an error. ``token`` is that of ``write_store``.
    """
    maker = _Maker(listing, strict=strict, jobs=jobs, watch=watch)
    meta = dataset_meta(name or printable(stem(listing.path)), [0, 1] if maker.binary else [])
    write_store(folder, maker.parts(), meta={**meta, **(notes or {})}, afterwards=maker.rest, token=token)


class _Maker:
    """Converts molecules to graphs, and collects the rows that are invalid."""

    def __init__(self, listing: MoleculeListing, *, strict: bool, jobs: int, watch: Watch | None) -> None:
        self.listing, self.strict, self.jobs, self.watch = listing, strict, jobs, watch
        self.binary = is_binary(listing.labels)
        self.valid = np.ones(len(listing), bool)
        self.invalid: list[Invalid] = []

    def parts(self) -> Iterator[Graphs]:
        """Yield the graphs of all valid molecules, in parts."""
        total, first = len(self.listing), 0
        for graphs, bad in featurise_in_parts(self.listing.parts(AT_A_TIME), jobs=self.jobs):
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
        """Return the arrays and notes that the store keeps beside the graphs."""
        table, valid = self.listing.table, np.flatnonzero(self.valid)
        named = identifiers(table.columns, table.lines)
        smiles = _texts(as_bytes(table.columns[self.listing.smiles].take(valid)))
        rows = MoleculeRows(
            smiles=smiles,
            lines=table.lines[valid],
            targets=self.listing.labels[valid],
            tasks=self.listing.tasks,
            names=None if named is None else _texts(named.take(valid)),
            rows=len(self.listing),
            invalid=tuple(self.invalid),
            scaffolds=_scaffolds(smiles, self.listing.tasks),
        )
        return molecule_arrays(rows), {MOLECULES: molecule_notes(rows)}


def _scaffolds(smiles: Sequence[str], tasks: Sequence[str]) -> np.ndarray | None:
    """Number the scaffolds of labelled molecules, unless there are many, so that splitting needs no RDKit later."""
    return numbered(scaffolds(smiles)) if tasks and len(smiles) < MANY else None


def _texts(cells: Any) -> Texts:
    """Return a column of bytes as texts, without creating a Python object for each."""
    cells = cells.combine_chunks()
    _, offsets, data = cells.buffers()
    ends = np.frombuffer(offsets, np.int64)[cells.offset : cells.offset + len(cells) + 1]
    return Texts(np.frombuffer(data or b"", np.uint8)[ends[0] : ends[-1]], np.diff(ends))
