"""Which molecules are trained on and which are judged: by scaffold, at random, or as a column says."""

from collections.abc import Sequence

import numpy as np

from nmrgcl.data.molecule_rows import MoleculeRows
from nmrgcl.data.molecules.read import Molecules
from nmrgcl.data.molecules.scaffolds import numbered, scaffolds
from nmrgcl.data.splits import Split
from nmrgcl.errors import DataError, SettingError, nearest, printable

SHARES = (0.8, 0.1)
"""To train and to validate on; the rest is tested."""
PARTS = {"train": 0, "valid": 1, "validation": 1, "val": 1, "test": 2}
"""What a column may call the part of a molecule, whatever its capitals."""


def split_molecules(molecules: Molecules, by: str = "scaffold", *, seed: int = 0) -> Split:
    """The split by ``scaffold``, at ``random`` (the only one that depends on ``seed``), or by ``column:NAME``."""
    if by == "scaffold":
        return scaffold_split(scaffolds(molecules.smiles))
    if by == "random":
        return random_split(len(molecules), seed=seed)
    kind, _, column = by.partition(":")
    if kind != "column" or not column:
        raise SettingError(f"unknown split {by!r}; known: scaffold, random, column:NAME")
    names = molecules.columns.column_names
    if column not in names:
        raise DataError(printable(f"{molecules.source}: has no column {column!r}; {nearest(column, names)}"))
    return column_split(molecules.columns[column].to_pylist(), column)


def split_rows(rows: MoleculeRows, by: str, *, seed: int) -> Split:
    """The split of a dataset's molecules by ``scaffold``, which needs RDKit unless they are known, or at ``random``."""
    if by == "random":
        return random_split(len(rows), seed=seed)
    return scaffold_split(scaffolds(rows.smiles) if rows.scaffolds is None else rows.scaffolds.tolist())


def scaffold_split(scaffolds: Sequence[str] | Sequence[int], shares: tuple[float, float] = SHARES) -> Split:
    """No scaffold is in two parts; the same scaffolds are always split in the same way (Hu et al. 2020).

    Scaffolds are taken from the most to the least frequent, ties from the one met last. Each goes to the first part
    that has room: training, then training and validation together, else test.
    """
    number = numbered(scaffolds)
    sizes = np.bincount(number)
    until_train, until_valid = shares[0] * len(scaffolds), sum(shares) * len(scaffolds)
    part = np.empty(len(sizes), np.int64)
    filled = [0, 0, 0]
    for scaffold in np.argsort(sizes, kind="stable")[::-1]:  # they are numbered in the order they are met
        size = sizes[scaffold]
        if filled[0] + size <= until_train:
            part[scaffold] = 0
        else:
            part[scaffold] = 1 if filled[0] + filled[1] + size <= until_valid else 2
        filled[part[scaffold]] += size
    return _split(part[number], "scaffold")


def random_split(count: int, *, seed: int = 0, shares: tuple[float, float] = SHARES) -> Split:
    """Cut a seeded permutation."""
    part = np.full(count, 2)
    train, valid = (round(share * count) for share in np.cumsum(shares))
    order = np.random.default_rng(seed).permutation(count)
    part[order[:valid]] = 1
    part[order[:train]] = 0
    return _split(part, "random")


def column_split(values: Sequence[object], name: str) -> Split:
    """As the values say: train, valid (or val, validation) and test; an empty cell is in no part."""
    part = np.full(len(values), -1)
    for row, value in enumerate(values):
        word = "" if value is None else str(value).strip().lower()
        if word and word not in PARTS:
            raise DataError(printable(f"column {name!r} holds {value!r}; it must say train, valid or test"))
        part[row] = PARTS.get(word, -1)
    return _split(part, f"column:{name}")


def _split(part: np.ndarray, name: str) -> Split:
    """Indices of each part, none of which may be empty."""
    parts = [np.flatnonzero(part == number) for number in range(3)]
    for found, purpose in zip(parts, ("train", "validate", "test"), strict=True):
        if not len(found):
            raise DataError(printable(f"split {name}: there is nothing to {purpose} on among {len(part)} molecules"))
    return Split(*parts)
