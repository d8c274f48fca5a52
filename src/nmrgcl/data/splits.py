"""Training, validation and test splits of graphs and nodes."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from nmrgcl.errors import DataError, SettingError

SplitName = Literal["public", "random-10-10-80", "paper-80-10-10"]
SPLITS: tuple[str, ...] = get_args(SplitName)
_SHARES = {"random-10-10-80": (0.1, 0.1), "paper-80-10-10": (0.8, 0.1)}


@dataclass(frozen=True, eq=False)
class Split:
    """Sorted indices of the training, validation and test part; they need not cover everything."""

    train: np.ndarray
    valid: np.ndarray
    test: np.ndarray


def stratified_folds(y: np.ndarray, folds: int = 10, *, seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return ``folds`` pairs of training and test indices for stratified cross-validation.

    Every labelled graph is tested once; unlabelled graphs (-1) are left out.
    """
    from sklearn.model_selection import StratifiedKFold  # Late, because scikit-learn takes seconds to import.

    if folds < 2:
        raise SettingError(f"folds is {folds}; it must be at least 2")
    y = np.asarray(y)
    labelled = np.flatnonzero(y >= 0)
    classes, counts = np.unique(y[labelled], return_counts=True)
    if not len(classes):
        raise DataError("there are no labelled graphs to split")
    fewest = int(counts.min())
    if fewest < folds:
        remedy = f"use at most {fewest} folds or leave that class out" if fewest > 1 else "leave that class out"
        raise DataError(f"class {classes[counts.argmin()]} has {fewest} graphs, too few for {folds} folds; {remedy}")
    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    return [(labelled[train], labelled[test]) for train, test in splitter.split(np.zeros(len(labelled)), y[labelled])]


def is_seeded(name: str) -> bool:
    """Return True if the split depends on the seed."""
    return name != "public"


def split_nodes(name: str, y: np.ndarray, *, seed: int = 0, public: np.ndarray | None = None) -> Split:
    """Return the named split of the labelled nodes; unlabelled nodes (-1) are in no part.

    ``public`` is the split published with the dataset. The others split a seeded permutation: 10 % training and 10 %
    validation nodes, as is usual, or 80 % and 10 % (App. E.3 of the paper).

    Example:
        >>> import numpy as np
        >>> from nmrgcl import split_nodes
        >>> split = split_nodes("random-10-10-80", np.zeros(50, int), seed=0)
        >>> len(split.train), len(split.valid), len(split.test)
        (5, 5, 40)
    """
    y = np.asarray(y)
    if name == "public":
        if public is None:
            raise DataError(f"this dataset has no public split; choose {' or '.join(_SHARES)}")
        parts = [np.flatnonzero((public == part) & (y >= 0)) for part in (1, 2, 3)]
    elif name in _SHARES:
        labelled = np.flatnonzero(y >= 0)
        order = np.random.default_rng(seed).permutation(labelled)
        ends = np.cumsum([round(share * len(order)) for share in _SHARES[name]])
        parts = [np.sort(part) for part in np.split(order, ends)]
    else:
        raise SettingError(f"unknown split {name!r}; known: {', '.join(SPLITS)}")
    for part, what in zip(parts, ("train", "validate", "test"), strict=True):
        if not len(part):
            raise DataError(f"split {name}: of {int((y >= 0).sum())} labelled nodes there are none to {what} on")
    return Split(*parts)
