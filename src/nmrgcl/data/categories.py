"""Categorical node attributes, such as text, and their one-hot encoding."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nmrgcl.errors import DataError, printable, say

Vocabulary = tuple[tuple[str, tuple[int | str, ...]], ...]
"""The names of attributes, each with the values that a model knows, sorted."""

MOST_VALUES = 1000
"""An attribute with more distinct values identifies single nodes rather than categories."""
FEW_VALUES = 20
"""An attribute with more distinct values must have at least two nodes per value, on average."""


@dataclass(frozen=True, eq=False)
class Categories:
    """``C`` categorical attributes of ``N`` nodes.

    Attributes:
        names: the names of the attributes.
        values: the distinct values of each attribute, sorted: all text, or all integers.
        codes: ``[N, C]`` int64, the index of each node's value among them; -1 where it is missing.
    """

    names: tuple[str, ...]
    values: tuple[tuple[int | str, ...], ...]
    codes: np.ndarray

    def take(self, rows: np.ndarray) -> "Categories":
        """Return the attributes of the nodes at ``rows``."""
        return Categories(self.names, self.values, self.codes[rows])


def categories_of(columns: Mapping[str, Sequence[Any]]) -> Categories | None:
    """Encode columns of one value per node, None where it is missing; returns None if there are no columns."""
    if not columns:
        return None
    values, codes = [], []
    for column in columns.values():
        known = sorted({value for value in column if value is not None})
        place = {value: i for i, value in enumerate(known)} | {None: -1}
        values.append(tuple(known))
        codes.append(np.fromiter((place[value] for value in column), np.int64, len(column)))
    return Categories(tuple(columns), tuple(values), np.stack(codes, 1))


def choose_vocabulary(categories: Categories | None, dataset: str) -> Vocabulary:
    """Choose the attributes and values that a model learns; ids of single nodes are skipped with a note."""
    if categories is None:
        return ()
    known = []
    for name, values, codes in zip(categories.names, categories.values, categories.codes.T, strict=True):
        nodes = int((codes >= 0).sum())
        if len(values) > MOST_VALUES or (len(values) > FEW_VALUES and nodes < 2 * len(values)):
            what = f"{len(values)} different values among {nodes} nodes"
            say(f"{dataset}: the node attribute {printable(name)!r} has {what}; it looks like an id and is not used")
        elif values:
            known.append((name, values))
    return tuple(known)


def one_hot_columns(
    categories: Categories | None, known: Vocabulary, dataset: str, *, quiet: bool = False
) -> np.ndarray:
    """Return the ``[N, C]`` indices of the one-hot columns that are one; -1 where a value is missing or unknown.

    Unknown values are reported, unless ``quiet``.
    """
    places = {} if categories is None else {name: i for i, name in enumerate(categories.names)}
    columns, start, new = [], 0, {}
    for name, values in known:
        if categories is None or name not in places:
            has = ", ".join(map(printable, places)) or "no text"
            raise DataError(f"{dataset}: these features need the node attribute {printable(name)!r}; available: {has}")
        place = {value: start + i for i, value in enumerate(values)}
        given = categories.values[places[name]]
        codes = categories.codes[:, places[name]]
        # Missing values have the code -1, which picks the last entry.
        table = np.array([*(place.get(value, -1) for value in given), -1], np.int64)
        columns.append(table[codes])
        if count := int(((columns[-1] < 0) & (codes >= 0)).sum()):
            new[name] = count
        start += len(values)
    if new and not quiet:
        counts = ", ".join(f"{printable(name)!r} of {count} nodes" for name, count in new.items())
        say(f"{dataset}: values unknown to the model are encoded as zeros: {counts}")
    return np.stack(columns, 1)


def read_vocabulary(values: Any) -> Vocabulary:
    """Read a vocabulary from the values of a JSON file; raise DataError for anything else."""
    if not isinstance(values, list) or not all(_is_column(column) for column in values):
        raise DataError("features: categories must be a list of names with their values")
    return tuple((name, tuple(known)) for name, known in values)


def _is_column(column: Any) -> bool:
    if not isinstance(column, list) or len(column) != 2:
        return False
    name, known = column
    return isinstance(name, str) and isinstance(known, list) and are_values(known)


def are_values(known: Sequence[Any]) -> bool:
    """Return True if these are sorted, distinct texts or 64-bit integers."""
    kinds = {type(value) for value in known}
    if not known or kinds not in ({int}, {str}):
        return False
    fit = kinds == {str} or -(2**63) <= min(known) <= max(known) < 2**63
    return fit and list(known) == sorted(set(known))
