"""Which graphs are trained on and which are judged."""

import numpy as np

from nmrgcl.errors import DataError, SettingError


def stratified_folds(y: np.ndarray, folds: int = 10, *, seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    """``folds`` pairs of training and test indices; every graph is tested once, every fold has all classes alike."""
    from sklearn.model_selection import StratifiedKFold

    if folds < 2:
        raise SettingError(f"folds is {folds}; it must be at least 2")
    y = np.asarray(y)
    classes, counts = np.unique(y, return_counts=True)
    if not len(classes):
        raise DataError("there are no graphs to split")
    fewest = int(counts.min())
    if fewest < folds:
        remedy = f"use at most {fewest} folds or leave that class out" if fewest > 1 else "leave that class out"
        raise DataError(f"class {classes[counts.argmin()]} has {fewest} graphs, too few for {folds} folds; {remedy}")
    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    return [(train, test) for train, test in splitter.split(np.zeros(len(y)), y)]
