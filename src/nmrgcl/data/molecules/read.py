"""A file of molecules → graphs, labels and identifiers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from nmrgcl.data.formats.text import stem
from nmrgcl.data.molecules.columns import label_columns, numbers, smiles_column, texts
from nmrgcl.data.molecules.smiles import Invalid, featurise
from nmrgcl.data.molecules.tables import Table, read_table
from nmrgcl.errors import DataError, SettingError, printable
from nmrgcl.graphs import Graphs

IDENTIFIERS = ("id", "mol_id", "molecule_id", "name")
"""Columns that identify molecules, whatever their capitals; the first that is there counts."""


@dataclass(frozen=True, eq=False)
class Molecules:
    """``M`` valid molecules, in the order of the file.

    Attributes:
        name: the file without its endings.
        graphs: as ``featurise`` makes them, one per molecule.
        smiles: as written in the file.
        lines: ``[M]`` the line of each molecule, from 1.
        labels: ``[M, T]`` float32, NaN where a label is missing.
        tasks: the names of the ``T`` columns of labels.
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
    def identifiers(self) -> list[str]:
        """The column of names or identifiers, as text; line numbers where there is none."""
        names = {name.lower(): name for name in reversed(self.columns.column_names)}
        found = next((names[name] for name in IDENTIFIERS if name in names), None)
        if found is None:
            return [str(line) for line in self.lines.tolist()]
        return ["" if value is None else str(value) for value in self.columns[found].to_pylist()]


def read_molecules(
    path: str | Path,
    *,
    smiles: str | None = None,
    labels: Sequence[str] | None = None,
    invalid: Literal["skip", "error"] = "skip",
) -> Molecules:
    """The molecules of a CSV, TSV, Parquet, SMI or SDF file, plain or packed with gzip or xz.

    Args:
        path: the file.
        smiles: the column of SMILES; the one with that name, or ``canonical_smiles``, unless given.
        labels: the columns of labels. Unless given, every column of numbers, but not one that counts the rows upwards.
        invalid: skip rows that are not molecules, which are listed in the result, or refuse the file.
    """
    if invalid not in ("skip", "error"):
        raise SettingError(f"invalid is {invalid!r}; it is skip or error")
    path = Path(path).expanduser()
    table = read_table(path)
    column = smiles_column(table.columns, str(path), smiles)
    cells = texts(table.columns[column])
    graphs, refused = featurise(cells)
    bad = tuple(_located(one, cells, table) for one in refused)
    if bad and (invalid == "error" or len(bad) == len(cells)):
        raise _refusal(bad, len(cells), path)
    kept = np.setdiff1d(np.arange(len(cells)), [one.row for one in refused])
    columns = table.columns.take(kept)
    tasks = label_columns(columns, str(path), column, labels)
    values = [numbers(columns[name], name, str(path)) for name in tasks]
    return Molecules(
        name=printable(stem(path)),
        graphs=graphs,
        smiles=[cells[i] or "" for i in kept.tolist()],
        lines=table.lines[kept],
        labels=np.stack(values, 1) if values else np.zeros((len(kept), 0), np.float32),
        tasks=tuple(tasks),
        invalid=bad,
        columns=columns,
        source=str(path),
    )


def _located(one: Invalid, cells: Sequence[str | None], table: Table) -> Invalid:
    """The same, by its line in the file."""
    reason = table.missing if cells[one.row] is None else one.reason
    return replace(one, row=int(table.lines[one.row]), reason=reason)


def _refusal(bad: Sequence[Invalid], rows: int, path: Path) -> DataError:
    first = f"line {bad[0].row}, {bad[0].text!r}: {bad[0].reason}"
    if len(bad) == rows:
        return DataError(printable(f"{path}: none of its {rows} rows is a valid molecule; {first}"))
    more = f" ({len(bad) - 1} more are invalid)" if len(bad) > 1 else ""
    return DataError(printable(f"{path}: {first}{more}; correct it, or skip such rows with invalid=skip"))
