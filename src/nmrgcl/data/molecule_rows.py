"""SMILES, names and labels of the molecules in a dataset."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nmrgcl.data.texts import Texts

LISTED = 20
"""Number of invalid rows that are kept; further ones are only counted."""


class Invalid(NamedTuple):
    """A row that is not a valid molecule.

    Attributes:
        row: its index in a list, from 0, or its line in a file, from 1.
        text: the beginning of its SMILES.
        reason: why it is invalid.
    """

    row: int
    text: str
    reason: str


@dataclass(frozen=True, eq=False)
class MoleculeRows:
    """One entry per molecule, in the order of the graphs.

    Attributes:
        smiles: SMILES as written in the file.
        lines: ``[M]`` line number of each molecule, from 1, ascending.
        targets: ``[M, T]`` float32 labels, NaN where one is missing.
        tasks: names of the ``T`` labels.
        names: the identifier column, if the file has one, with the line of a molecule where it is blank.
        rows: number of rows in the file, including invalid ones.
        invalid: the first invalid rows, by line.
        scaffolds: ``[M]`` scaffold numbers, if known; with them, splitting needs no RDKit.
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
        """The number of rows that are not molecules."""
        return self.rows - len(self)

    @property
    def ids(self) -> list[str]:
        """The names, or line numbers if the file has no names."""
        return list(self.names) if self.names is not None else [str(line) for line in self.lines.tolist()]

    @property
    def binary(self) -> bool:
        """True if there is a single task with labels 0 and 1, which then also serve as classes."""
        return is_binary(self.targets)


def is_binary(targets: np.ndarray) -> bool:
    """Return True if the ``[M, T]`` labels are those of a single task, and exactly 0 and 1 occur."""
    known = targets[~np.isnan(targets)]
    return targets.shape[1] == 1 and set(np.unique(known).tolist()) == {0.0, 1.0}


def class_codes(targets: np.ndarray) -> np.ndarray:
    """Return the ``[M]`` int64 labels of a single task, -1 where one is missing."""
    return np.where(np.isnan(targets[:, 0]), -1, np.nan_to_num(targets[:, 0])).astype(np.int64)
