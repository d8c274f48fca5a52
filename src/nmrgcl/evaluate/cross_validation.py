"""Nested cross-validation: the values of C to try, the scores, and what data it needs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, inf
from typing import Any, Literal

import numpy as np

from nmrgcl.errors import DataError, SettingError

GRID = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)  # GraphCL's
FINE = tuple(10.0 ** (third / 3) for third in range(-9, 10))
INNER_FOLDS = 5
LARGEST = 1e150
"""The largest magnitude allowed in embeddings, as squares of larger numbers overflow."""
Watch = Callable[[int, int], None]
"""Called with the number of folds that are done, inner and outer ones, and their total."""

NOT_USABLE = "NaN, infinity or numbers beyond 1e150: train again with a lower learning rate, or scale them"

Penalty = Literal["grid", "fine", "default"] | float


class FewMembersError(DataError):
    """The class ``label`` has too few members for cross-validation."""

    def __init__(self, label: Any, count: int, why: str) -> None:
        super().__init__(f"class {label} has {count} member{'' if count == 1 else 's'}, {why}")
        self.label, self.count, self.why = label, count, why

    def named(self, dataset: str, classes: Sequence[Any] | np.ndarray) -> "FewMembersError":
        """The same error with the name of the class in ``dataset``; the label is its number in ``classes``."""
        return FewMembersError(f"{classes[self.label]} of {dataset}", self.count, self.why)


@dataclass(frozen=True, eq=False)
class NestedScores:
    """Accuracies in percent per fold, ``[..., folds]`` each.

    Attributes:
        outer: on the test folds.
        inner: on training rows only, by which C was chosen; None if there was nothing to choose.
        chosen: the index of the chosen value; None if it is not recorded.
    """

    outer: np.ndarray
    inner: np.ndarray | None
    chosen: np.ndarray | None = None


def penalties(c: Penalty) -> tuple[float, ...]:
    """The values of C that ``c`` stands for."""
    named = {"grid": GRID, "fine": FINE, "default": (1.0,)}
    if c in named:
        return named[str(c)]
    if isinstance(c, str) or not 0 < c < inf:
        raise SettingError(f'c is {c!r}: use "grid", "fine", "default" or a positive number')
    return (float(c),)


def require_foldable(z: np.ndarray, y: np.ndarray, folds: int, *, inner: bool) -> None:
    """Refuse embeddings ``[B, D]`` and labels ``[B]`` that do not allow ``folds`` folds, or ``inner`` folds in them."""
    if folds < 2:
        raise SettingError(f"folds is {folds}: cross-validation needs at least 2")
    if z.ndim != 2 or z.shape[1] == 0:
        raise DataError(f"embeddings have shape {list(z.shape)}: pass one row per graph with at least one column")
    if y.shape != (len(z),):
        raise DataError(f"{len(z)} embeddings but labels of shape {list(y.shape)}: pass one label per row")
    # NaN compares false and so counts as bad. A Python float would become infinity next to float32.
    if bad := int(np.count_nonzero(~(np.abs(z) <= np.float64(LARGEST)).all(axis=1))):
        raise DataError(f"{bad} of {len(z)} embeddings contain {NOT_USABLE}")
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) < 2:
        raise DataError(f"all {len(y)} labels are the same class: an SVM needs at least two classes")
    smallest = int(np.argmin(counts))
    label, count = classes[smallest], int(counts[smallest])
    if count < folds:
        raise FewMembersError(label, count, f"fewer than {folds} folds: lower svm.folds or leave the class out")
    # The largest fold takes this many members of the class away.
    left = count - ceil(count / folds)
    if inner and left < INNER_FOLDS:
        why = f"{left} of them for training, but choosing C needs {INNER_FOLDS}"
        raise FewMembersError(label, count, f"{why}: raise svm.folds, set svm.c to default or leave the class out")
