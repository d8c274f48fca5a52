"""Split molecules into training, validation and test part: by scaffold, at random, or by a column."""

from collections.abc import Sequence

import numpy as np

from nmrgcl.data.molecule_rows import MoleculeRows
from nmrgcl.data.molecules.read import Molecules
from nmrgcl.data.molecules.scaffolds import numbered, scaffolds
from nmrgcl.data.splits import Split
from nmrgcl.errors import DataError, SettingError, nearest, printable

SHARES = (0.8, 0.1)
"""Shares of the training and validation part; the rest is the test part."""
PARTS = {"train": 0, "valid": 1, "validation": 1, "val": 1, "test": 2}
"""Recognised values of a split column; case is ignored."""


def split_molecules(molecules: Molecules, by: str = "scaffold", *, seed: int = 0) -> Split:
    """Split by ``scaffold``, at ``random`` (which alone depends on ``seed``), or by ``column:NAME``."""
    if by == "scaffold":
        return scaffold_split(scaffolds(molecules.smiles))
    if by == "random":
        return random_split(len(molecules), seed=seed)
    kind, _, column = by.partition(":")
    if kind != "column" or not column:
        raise SettingError(f"unknown split {by!r}; known: scaffold, random, column:NAME")
    names = molecules.columns.column_names
    if column not in names:
        raise DataError(printable(f"{molecules.source}: there is no column {column!r}; {nearest(column, names)}"))
    return column_split(molecules.columns[column].to_pylist(), column)


def split_rows(rows: MoleculeRows, by: str, *, seed: int) -> Split:
    """Split the molecules of a dataset by ``scaffold`` or at ``random``; unknown scaffolds need RDKit."""
    if by == "random":
        return random_split(len(rows), seed=seed)
    return scaffold_split(scaffolds(rows.smiles) if rows.scaffolds is None else rows.scaffolds.tolist())


def scaffold_split(scaffolds: Sequence[str] | Sequence[int]) -> Split:
    """Split deterministically such that no scaffold is in two parts (Hu et al. 2020).

    Scaffolds are assigned from the most to the least frequent, and among equals from the one that appears last. Each
    goes to the training part if there is room, else to the validation part, else to the test part.
    """
    number = numbered(scaffolds)
    sizes = np.bincount(number)
    until_train, until_valid = SHARES[0] * len(scaffolds), sum(SHARES) * len(scaffolds)
    part = np.empty(len(sizes), np.int64)
    filled = [0, 0, 0]
    for scaffold in np.argsort(sizes, kind="stable")[::-1]:  # scaffolds are numbered by first appearance
        size = sizes[scaffold]
        if filled[0] + size <= until_train:
            part[scaffold] = 0
        else:
            part[scaffold] = 1 if filled[0] + filled[1] + size <= until_valid else 2
        filled[part[scaffold]] += size
    return _split(part[number], "scaffold")


def random_split(count: int, *, seed: int = 0) -> Split:
    """Split a seeded random permutation."""
    part = np.full(count, 2)
    train, valid = (round(share * count) for share in np.cumsum(SHARES))
    order = np.random.default_rng(seed).permutation(count)
    part[order[:valid]] = 1
    part[order[:train]] = 0
    return _split(part, "random")


def column_split(values: Sequence[object], name: str) -> Split:
    """Split by the values train, valid (or val, validation) and test; an empty cell is in no part."""
    part = np.full(len(values), -1)
    for row, value in enumerate(values):
        word = "" if value is None else str(value).strip().lower()
        if word and word not in PARTS:
            raise DataError(printable(f"column {name!r} contains {value!r}; it must be train, valid or test"))
        part[row] = PARTS.get(word, -1)
    return _split(part, f"column:{name}")


def _split(part: np.ndarray, name: str) -> Split:
    """Return the indices of each part, none of which may be empty."""
    parts = [np.flatnonzero(part == number) for number in range(3)]
    for found, purpose in zip(parts, ("train", "validate", "test"), strict=True):
        if not len(found):
            raise DataError(printable(f"split {name}: of {len(part)} molecules there are none to {purpose} on"))
    return Split(*parts)
