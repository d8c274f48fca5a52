"""Files of molecules, read row by row: what is in memory is the table, and no more than a part of the graphs."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nmrgcl.data.formats.text import open_text
from nmrgcl.data.molecules import Invalid
from nmrgcl.data.molecules.columns import NAMES, smiles_column, texts
from nmrgcl.data.molecules.read import IDENTIFIERS
from nmrgcl.data.molecules.smiles import AT_A_TIME, MANY
from nmrgcl.data.molecules.tables import Table, arrow, read_table
from nmrgcl.errors import DataError, SettingError, printable
from nmrgcl.model_folder import Model
from nmrgcl.run.embeddings import Embeddings, columns_of, read_embeddings
from nmrgcl.run.molecules import Part, embed_smiles

ENDINGS = (".csv", ".tsv", ".parquet", ".smi", ".sdf")
"""Of files that may list molecules, also packed with gzip or xz."""
LONGEST_HEADER = 1 << 16
"""Bytes of the first line that are looked at."""
Watch = Callable[[int, int], None]
"""Called with the number of rows that are done, and of all."""


def may_list_molecules(data: str) -> bool:
    """Whether ``data`` is a file whose name has one of the endings."""
    name = data.lower().removesuffix(".gz").removesuffix(".xz")
    return name.endswith(ENDINGS) and Path(data).expanduser().is_file()


def says_molecules(data: str) -> bool:
    """Whether such a file must be one of molecules, by its ending or by the names of its columns."""
    path, name = Path(data).expanduser(), data.lower().removesuffix(".gz").removesuffix(".xz")
    if not may_list_molecules(data) or name.endswith(".parquet"):
        return False
    if name.endswith((".smi", ".sdf")):
        return True
    with open_text(path) as stream:
        header = stream.read(LONGEST_HEADER).split(b"\n")[0].decode(errors="replace")
    return not {cell.strip(' "\r') for cell in re.split("[,\t]", header.lower())}.isdisjoint(NAMES)


@dataclass(frozen=True, eq=False)
class MoleculeFile:
    """The rows of a file, of which some may turn out to be no molecules.

    Attributes:
        path: of the file.
        table: what it holds.
        column: the one of SMILES.
        strict: whether an invalid row is an error; otherwise it is skipped.
    """

    path: Path
    table: Table
    column: str
    strict: bool = False

    @classmethod
    def read(cls, path: Path | str, *, smiles: str | None = None, invalid: str = "skip") -> "MoleculeFile":
        """The file at ``path``; the column of SMILES is found by its name unless ``smiles`` says it."""
        if invalid not in ("skip", "error"):
            raise SettingError(f"--invalid {invalid}: known: skip, error")
        path = Path(path).expanduser()
        if not path.is_file():
            raise DataError(printable(f"{path}: no such file"))
        table = _read_npz(path) if path.suffix == ".npz" else read_table(path)
        return cls(path, table, smiles_column(table.columns, str(path), smiles), invalid == "error")

    def __len__(self) -> int:
        return len(self.table.lines)

    @property
    def jobs(self) -> int:
        """Processes that are worth starting for it."""
        return 1 if len(self) < MANY else -1

    def texts(self) -> Iterator[str | None]:
        """The SMILES of all rows, of which a few thousand are Python's at a time."""
        column = self.table.columns[self.column]
        for first in range(0, len(self), AT_A_TIME):
            yield from texts(column.slice(first, AT_A_TIME))

    def smiles(self, rows: np.ndarray) -> list[str]:
        """Those of some rows."""
        return [text or "" for text in texts(self.table.columns[self.column].take(rows))]

    def identifiers(self, rows: np.ndarray) -> list[str]:
        """The column of names or identifiers, as text; line numbers where there is none."""
        names = {name.lower(): name for name in reversed(self.table.columns.column_names)}
        found = next((names[name] for name in IDENTIFIERS if name in names), None)
        if found is None:
            return [str(line) for line in self.table.lines[rows].tolist()]
        return ["" if value is None else str(value) for value in self.table.columns[found].take(rows).to_pylist()]

    def check(self, parts: Iterator[Part], skipped: list[Invalid], watch: Watch | None = None) -> Iterator[Part]:
        """Parts with valid rows. Others are noted in ``skipped``, by line, or refused; so is a file without any."""
        done = 0
        for part in parts:
            skipped += [self._located(one) for one in part.invalid]
            done += len(part.rows) + len(part.invalid)
            if skipped and self.strict:
                raise DataError(printable(f"{self.path}: {told(skipped[0])}; correct it, or use --invalid skip"))
            if len(skipped) == len(self):
                first = told(skipped[0])
                raise DataError(printable(f"{self.path}: none of its {len(self)} rows is a valid molecule; {first}"))
            if len(part.rows):
                yield part
            if watch is not None:
                watch(done, len(self))

    def embed(
        self, model: Model, device: torch.device, skipped: list[Invalid], watch: Watch | None = None
    ) -> Iterator[Embeddings]:
        """Embeddings of the valid rows, in parts."""
        parts = embed_smiles(model, self.texts(), device, jobs=self.jobs)
        for part in self.check(parts, skipped, watch):
            named: list[Any] = [np.array(found(part.rows)) for found in (self.identifiers, self.smiles)]
            yield Embeddings(part.values, None, *named)

    def _located(self, one: Invalid) -> Invalid:
        """The same, by its line in the file."""
        empty = not self.table.columns[self.column][one.row].is_valid
        return Invalid(int(self.table.lines[one.row]), one.text, self.table.missing if empty else one.reason)


def _read_npz(path: Path) -> Table:
    """Embeddings that ``nmrgcl embed`` has written."""
    found = read_embeddings(path)
    if found.smiles is None or not len(found.z):
        raise DataError(printable(f"{path}: holds no molecules; write it with nmrgcl embed from a file of SMILES"))
    return Table(arrow().table(columns_of(found)), np.arange(len(found.z)) + 1)


def told(one: Invalid) -> str:
    """An invalid row in words."""
    return f"line {one.row}, {one.text!r}: {one.reason}"
