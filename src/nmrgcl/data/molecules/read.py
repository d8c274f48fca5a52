"""Read a file of molecules as graphs, labels and identifiers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from nmrgcl.data.formats.text import stem
from nmrgcl.data.molecules.columns import identifiers, smiles_column, texts
from nmrgcl.data.molecules.labels import label_columns, numbers
from nmrgcl.data.molecules.smiles import Invalid, featurise
from nmrgcl.data.molecules.tables import MoleculeTable, read_table
from nmrgcl.errors import DataError, SettingError, printable
from nmrgcl.graphs import Graphs


@dataclass(frozen=True, eq=False)
class Molecules:
    """The ``M`` valid molecules of a file, in order.

    Attributes:
        name: name of the file without its endings.
        graphs: one graph per molecule, as returned by ``featurise``.
        smiles: SMILES as written in the file.
        lines: ``[M]`` line number of each molecule, from 1.
        labels: ``[M, T]`` float32, NaN where a label is missing.
        tasks: names of the ``T`` label columns.
        invalid: rows that were skipped, by line.
        columns: all columns of the file, as a ``pyarrow.Table`` of ``M`` rows.
        source: the path.
    """

    name: str
    graphs: Graphs
    smiles: list[str]
    lines: np.ndarray
    labels: np.ndarray
    tasks: tuple[str, ...]
    invalid: tuple[Invalid, ...]
    columns: Any
    source: str

    def __len__(self) -> int:
        return len(self.smiles)

    @property
    def ids(self) -> list[str]:
        """The identifier column as text; the line number where there is none."""
        found = identifiers(self.columns, self.lines)
        return [str(line) for line in self.lines.tolist()] if found is None else [text or "" for text in texts(found)]


def read_molecules(
    path: str | Path,
    *,
    smiles: str | None = None,
    labels: Sequence[str] | str | None = None,
    invalid: Literal["skip", "error"] = "skip",
) -> Molecules:
    """Read a CSV, TSV, Parquet, SMI or SDF file, optionally compressed with gzip or xz.

    Args:
        path: the file.
        smiles: the SMILES column; None: the one named ``smiles`` or ``canonical_smiles``.
        labels: the label columns, as a list or separated by commas as in CSV; None: every numeric column except for
            identifiers and running numbers.
        invalid: ``skip`` rows that are not molecules and list them in the result, or raise an ``error``.
    """
    listing = list_molecules(path, smiles=smiles, labels=labels, invalid=invalid)
    graphs, refused = featurise(listing.cells())
    bad = tuple(listing.located(one) for one in refused)
    if bad and (invalid == "error" or len(bad) == len(listing)):
        raise refusal(bad[0], len(bad), len(listing), listing.path)
    kept = np.setdiff1d(np.arange(len(listing)), [one.row for one in refused])
    return Molecules(
        name=printable(stem(listing.path)),
        graphs=graphs,
        smiles=[text or "" for text in texts(listing.table.columns[listing.smiles].take(kept))],
        lines=listing.table.lines[kept],
        labels=listing.labels[kept],
        tasks=listing.tasks,
        invalid=bad,
        columns=listing.table.columns.take(kept),
        source=str(listing.path),
    )


@dataclass(frozen=True, eq=False)
class MoleculeListing:
    """A file of molecules before conversion to graphs: its table, SMILES column, tasks and ``[R, T]`` labels."""

    path: Path
    table: MoleculeTable
    smiles: str
    tasks: tuple[str, ...]
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.table.lines)

    def cells(self) -> list[str | None]:
        """Return the SMILES of all rows."""
        return texts(self.table.columns[self.smiles])

    def parts(self, size: int) -> Iterator[str | None]:
        """Yield the SMILES of all rows, converting only ``size`` to Python strings at a time."""
        for batch in self.table.columns.select([self.smiles]).to_batches(max_chunksize=size):
            yield from texts(batch.column(0))

    def located(self, one: Invalid) -> Invalid:
        """Replace the index of an invalid row by its line in the file."""
        empty = not self.table.columns[self.smiles][one.row].is_valid
        return one._replace(row=int(self.table.lines[one.row]), reason=self.table.missing if empty else one.reason)


def list_molecules(
    path: str | Path, *, smiles: str | None = None, labels: Sequence[str] | str | None = None, invalid: str = "skip"
) -> MoleculeListing:
    """Read the table and labels of a file; the arguments are those of ``read_molecules``."""
    if invalid not in ("skip", "error"):
        raise SettingError(f"invalid is {invalid!r}; it must be skip or error")
    path = Path(path).expanduser()
    table = read_table(path)
    column = smiles_column(table.columns, str(path), smiles)
    tasks = label_columns(table.columns, str(path), column, labels)
    values = [numbers(table.columns[name], name, str(path), table.lines) for name in tasks]
    found = np.stack(values, 1) if values else np.zeros((len(table.lines), 0), np.float32)
    return MoleculeListing(path, table, column, tuple(tasks), found)


def refusal(first: Invalid, bad: int, rows: int, path: Path) -> DataError:
    """Return the error about ``bad`` invalid rows, of which it names the first."""
    told = f"line {first.row}, {first.text!r}: {first.reason}"
    if bad == rows:
        return DataError(printable(f"{path}: none of its {rows} rows is a valid molecule; {told}"))
    more = f" ({bad - 1} more are invalid)" if bad > 1 else ""
    return DataError(printable(f"{path}: {told}{more}; correct it, or skip such rows (invalid=skip, --invalid skip)"))
