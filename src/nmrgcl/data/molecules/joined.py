"""Join datasets of molecules into the store of one, with only part of the graphs in memory at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.molecule_rows import LISTED, MoleculeRows, class_codes
from nmrgcl.data.molecules.dataset import Watch
from nmrgcl.data.stored_molecules import MOLECULES, dataset_meta, molecule_arrays, molecule_notes
from nmrgcl.data.texts import Texts
from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs
from nmrgcl.store import write_store

AT_A_TIME = 65_536
"""Number of graphs in memory at a time."""


def write_joined(folder: Path, datasets: Sequence[Dataset], *, name: str, watch: Watch | None = None) -> None:
    """Write the store of all molecules of ``datasets``, in order; repeated molecules are kept."""
    rows = _join_rows(datasets)
    meta = {**dataset_meta(name, [0, 1] if rows.binary else []), MOLECULES: molecule_notes(rows)}
    write_store(folder, _parts(datasets, rows, watch), extra=molecule_arrays(rows), meta=meta)


def _join_rows(datasets: Sequence[Dataset]) -> MoleculeRows:
    """Concatenate the rows; line numbers continue from file to file. Names are kept if all files have them."""
    rows = [dataset.molecules for dataset in datasets if dataset.molecules is not None]
    for dataset in datasets:
        if dataset.molecules is None:
            raise DataError(f"{dataset.name}: is not a file of molecules; only files of molecules can be joined")
        if dataset.molecules.tasks != rows[0].tasks:
            ours, theirs = (", ".join(one.tasks) or "none" for one in (dataset.molecules, rows[0]))
            told = f"{dataset.name}: its labels are {ours}, but those of {datasets[0].name} are {theirs}"
            raise DataError(f"{told}; choose columns that all files have")
    lasts = [max([0, *one.lines[-1:].tolist(), *(bad.row for bad in one.invalid)]) for one in rows]
    before = np.cumsum([0, *lasts[:-1]]).tolist()
    names = [one.names for one in rows if one.names is not None]
    invalid = [bad._replace(row=bad.row + more) for one, more in zip(rows, before, strict=True) for bad in one.invalid]
    return MoleculeRows(
        smiles=_join_texts([one.smiles for one in rows]),
        lines=np.concatenate([one.lines + more for one, more in zip(rows, before, strict=True)]),
        targets=np.concatenate([one.targets for one in rows]),
        tasks=rows[0].tasks,
        names=_join_texts(names) if len(names) == len(rows) else None,
        rows=sum(one.rows for one in rows),
        invalid=tuple(invalid[:LISTED]),
    )


def _join_texts(parts: Sequence[Texts]) -> Texts:
    return Texts(np.concatenate([part.data for part in parts]), np.concatenate([part.lengths for part in parts]))


def _parts(datasets: Sequence[Dataset], rows: MoleculeRows, watch: Watch | None) -> Iterator[Graphs]:
    """Yield all graphs; classes are assigned here, because a single file may contain only one of the two."""
    y = torch.from_numpy(class_codes(rows.targets)) if rows.binary else None
    done = 0
    for dataset in datasets:
        source = dataset.graphs if dataset.store is None else dataset.store.check_bytes()
        for index in torch.arange(len(source)).split(AT_A_TIME):
            graphs = source.take(index)
            yield replace(graphs, y=None if y is None else y[done : done + len(index)])
            done += len(index)
            if watch is not None:
                watch(done, len(rows))
