"""What is known about the molecules of a dataset beside their graphs: names, SMILES, and labels for several tasks."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nmrgcl.data.texts import Texts

LISTED = 20
"""Invalid rows that are kept with their line; of more, only the number is."""


class Invalid(NamedTuple):
    """A row that is not a usable molecule.

    Attributes:
        row: its index in a list, from 0, or its line in a file, from 1.
        text: the beginning of what it holds.
        reason: why it is not used.
    """

    row: int
    text: str
    reason: str


@dataclass(frozen=True, eq=False)
class MoleculeRows:
    """One entry per graph, in their order.

    Attributes:
        smiles: as written in the file.
        lines: ``[M]`` the line of each molecule, from 1, ascending.
        targets: ``[M, T]`` float32, NaN where a label is missing.
        tasks: the names of the ``T`` labels.
        names: the column of identifiers, where the file has one.
        scaffolds: ``[M]`` a number for each scaffold, where they are known; machines without RDKit split by them.
        rows: of the file, invalid ones included.
        invalid: the first of those, by line.
    """

    smiles: Texts
    lines: np.ndarray
    targets: np.ndarray
    tasks: tuple[str, ...] = ()
    names: Texts | None = None
    rows: int = 0
    invalid: tuple[Invalid, ...] = ()
    scaffolds: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.smiles)

    @property
    def skipped(self) -> int:
        """Rows of the file that are no molecules."""
        return self.rows - len(self)

    @property
    def ids(self) -> list[str]:
        """Names, or line numbers where the file has none."""
        return list(self.names) if self.names is not None else [str(line) for line in self.lines.tolist()]

    @property
    def binary(self) -> bool:
        """Whether the only task has the labels 0 and 1: these are classes of the graphs, too."""
        return is_binary(self.targets)


def is_binary(targets: np.ndarray) -> bool:
    """Whether ``[M, T]`` labels are of one task, and both 0 and 1 occur and nothing else."""
    known = targets[~np.isnan(targets)]
    return targets.shape[1] == 1 and set(np.unique(known).tolist()) == {0.0, 1.0}


def class_codes(targets: np.ndarray) -> np.ndarray:
    """``[M]`` int64 of the only task; -1 where a label is missing."""
    return np.where(np.isnan(targets[:, 0]), -1, np.nan_to_num(targets[:, 0])).astype(np.int64)
