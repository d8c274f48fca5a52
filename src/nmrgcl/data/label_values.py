"""Integer labels: the distinct values of each column that a model knows, and the index of a label among them."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from nmrgcl.errors import DataError

LabelValues = tuple[tuple[int, ...], ...]
"""The known values of each label column, sorted."""
Unknown = Literal["error", "zero"]


def distinct_values(labels: np.ndarray) -> LabelValues:
    """Return the distinct values of each column of ``labels`` ``[·, C]``."""
    return tuple(tuple(np.unique(column).tolist()) for column in labels.T)


def are_values(known: LabelValues) -> bool:
    """Return True if every column has values, and they are sorted and distinct."""
    return all(values and list(values) == sorted(set(values)) for values in known)


def places(
    labels: np.ndarray, known: LabelValues, unknown: Unknown, *, dataset: str, item: str, name: Callable[[int], str]
) -> np.ndarray:
    """Return the ``[·, C]`` index of each label among the known values of its column; -1 for unknown labels.

    With ``unknown="error"`` an unknown label raises DataError, which refers to row i as ``name(i)``.
    """
    if labels.shape[1] != len(known):
        raise DataError(f"{dataset}: there are {labels.shape[1]} labels per {item}; these features need {len(known)}")
    found = np.empty(labels.shape, np.int64)
    for c, values in enumerate(known):
        # A label above all known ones has the place len(values).
        place = np.searchsorted(values, labels[:, c]).clip(max=len(values) - 1)
        new = np.asarray(values)[place] != labels[:, c]
        if new.any() and unknown == "error":
            row = int(new.argmax())
            raise DataError(
                f"{dataset}: {name(row)} has the label {labels[row, c]}, which is not among the {len(values)} labels "
                f"the model knows; use unknown=zero to encode such {item}s as zeros"
            )
        found[:, c] = np.where(new, -1, place)
    return found


def read_values(values: Any) -> LabelValues | None:
    """Read label values from a JSON file; raise DataError for anything else."""
    if values is None:
        return None
    if not isinstance(values, list) or not all(isinstance(column, list) for column in values):
        raise DataError("features: labels must be a list of lists")
    if not all(is_int(value) for column in values for value in column):
        raise DataError("features: a label value is not an integer")
    return tuple(tuple(column) for column in values)


def is_int(value: Any) -> bool:
    """Return True if ``value`` is a 64-bit integer."""
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63
