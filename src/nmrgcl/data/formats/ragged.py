"""The lists of many graphs as flat arrays, at the speed of C; whatever is wrong is then found by halving.

A list holds numbers, or rows of as many numbers each. Whether one is right never depends on another, so a block of
graphs is right exactly if each graph, each row and each number is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from nmrgcl.data.formats.classes import shown, whole


def _ends(values: list[Any]) -> np.ndarray:
    return np.fromiter(values, np.int64, len(values))


def _integers(values: list[Any]) -> np.ndarray:
    if float in set(map(type, values)):
        values = [whole(value) if type(value) is float else value for value in values]
    return np.fromiter(values, np.int64, len(values))


def _reals(values: list[Any]) -> np.ndarray:
    with np.errstate(over="ignore"):
        numbers = np.fromiter(values, np.float32, len(values))
    if not np.isfinite(numbers).all():
        raise ValueError
    return numbers


def _positive(values: list[Any]) -> np.ndarray:
    numbers = _reals(values)
    if not (numbers > 0).all():
        raise ValueError
    return numbers


@dataclass(frozen=True)
class Kind:
    """What the numbers of a list must be: their types in Python, what else is checked, and how to say it."""

    types: frozenset[type]
    convert: Callable[[list[Any]], np.ndarray]
    means: str


ENDS = Kind(frozenset({int}), _ends, "the number of a node, counted from 0")
INTEGERS = Kind(frozenset({int, bool, float}), _integers, "an integer of 64 bits")
REALS = Kind(frozenset({int, bool, float}), _reals, "a finite number that fits a 32-bit float")
WEIGHTS = Kind(frozenset({int, float}), _positive, "a positive number that fits a 32-bit float")


def width_of(lists: Sequence[list[Any]]) -> int | None:
    """The numbers in a row by the first row there is; 0 where the list itself holds the numbers; None without rows."""
    first = next((rows[0] for rows in lists if rows), None)
    return len(first) if isinstance(first, list) else None if first is None else 0


def flatten(lists: Sequence[list[Any]], kind: Kind, width: int) -> np.ndarray:
    """All numbers of all lists, one after another; ``ValueError`` where one is not as it should be."""
    if set(map(type, lists)) - {list}:
        raise ValueError
    values = list(chain.from_iterable(lists))
    if width:
        if set(map(type, values)) - {list} or set(map(len, values)) - {width}:
            raise ValueError
        values = list(chain.from_iterable(values))
    if set(map(type, values)) - kind.types:
        raise ValueError
    try:
        return kind.convert(values)
    except OverflowError:
        raise ValueError from None


def find_wrong(lists: Sequence[list[Any]], kind: Kind, width: int) -> tuple[int, str]:
    """The first list that ``flatten`` refuses, and why, as the rest of a sentence that begins with the list's name."""
    at = first_refused(lists, lambda part: flatten(part, kind, width))
    rows = lists[at]
    if not isinstance(rows, list):
        return at, f" is {shown(rows)}, not a list"
    i = first_refused(rows, lambda part: flatten([part], kind, width))
    if not width:
        return at, f"[{i}] is {shown(rows[i])}, not {kind.means}"
    if not isinstance(rows[i], list) or len(rows[i]) != width:
        found = f"{len(rows[i])} numbers" if isinstance(rows[i], list) else shown(rows[i])
        return at, f"[{i}] is {found}, not a list of {width} numbers"
    j = first_refused(rows[i], lambda part: flatten([[part]], kind, len(part)))
    return at, f"[{i}][{j}] is {shown(rows[i][j])}, not {kind.means}"


def first_refused(items: Sequence[Any], check: Callable[[Any], object]) -> int:
    """The place of the first item that ``check`` refuses, in steps that halve."""
    low, high = 0, len(items)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            check(items[low:middle])
            low = middle
        except ValueError:
            high = middle
    return low
