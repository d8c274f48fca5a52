"""Labels that a model knows: the distinct values of each column, and where a label stands among them."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from nmrgcl.errors import DataError

LabelValues = tuple[tuple[int, ...], ...]
"""The known values of each label column, sorted."""
Unknown = Literal["error", "zero"]


def distinct_values(labels: np.ndarray) -> LabelValues:
    """Of each column of ``labels`` (``[·, C]``)."""
    return tuple(tuple(np.unique(column).tolist()) for column in labels.T)


def are_values(known: LabelValues) -> bool:
    """Whether every column has values, sorted and distinct."""
    return all(values and list(values) == sorted(set(values)) for values in known)


def places(
    labels: np.ndarray, known: LabelValues, unknown: Unknown, *, dataset: str, item: str, name: Callable[[int], str]
) -> np.ndarray:
    """``[·, C]`` the place of each label among the known values of its column; -1: none of them.

    An ``unknown`` label may also be an error. Messages speak of an ``item``, and of row i as ``name(i)``.
    """
    if labels.shape[1] != len(known):
        raise DataError(f"{dataset}: has {labels.shape[1]} labels per {item}, but these features have {len(known)}")
    found = np.empty(labels.shape, np.int64)
    for c, values in enumerate(known):
        place = np.searchsorted(values, labels[:, c]).clip(max=len(values) - 1)
        new = np.asarray(values)[place] != labels[:, c]
        if new.any() and unknown == "error":
            row = int(new.argmax())
            raise DataError(
                f"{dataset}: {name(row)} has the label {labels[row, c]}, which is not among the {len(values)} these "
                f"features know; with unknown=zero such {item}s have no features"
            )
        found[:, c] = np.where(new, -1, place)
    return found


def read_values(values: Any) -> LabelValues | None:
    """From plain values of a JSON file; anything else is an error."""
    if values is None:
        return None
    if not isinstance(values, list) or not all(isinstance(column, list) for column in values):
        raise DataError("features: labels is not a list of lists")
    if not all(is_int(value) for column in values for value in column):
        raise DataError("features: a label value is not an integer")
    return tuple(tuple(column) for column in values)


def is_int(value: Any) -> bool:
    """Whether ``value`` is a whole number that 64 bits hold."""
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63
