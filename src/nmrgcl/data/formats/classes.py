"""Parse classes in files: 64-bit integers or text."""

import re
from collections.abc import Sequence

from nmrgcl.data.dataset import Label

INTEGER = re.compile(r"[+-]?[0-9]+")
# Possessive quantifiers prevent backtracking, which would take quadratic time to refuse a million digits.
REAL = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
_EXACT = 2**53
_REMEDY = "classes must be integers or text; leave out regression targets"


def json_label(value: object) -> Label | None:
    """Return a JSON value as a class, None for null; raise ValueError if it cannot be one."""
    if value is None:
        return None
    if isinstance(value, float):
        return whole(value)
    if isinstance(value, int):
        return _fitting(int(value))
    if isinstance(value, str):
        return _printable(value)
    raise ValueError(f"{shown(value)} is not a class; {_REMEDY}")


def text_label(cell: str) -> Label | None:
    """Return a cell as a class, None if it is empty; whatever looks like a number must be an integer."""
    if not cell:
        return None
    if REAL.fullmatch(cell):
        return text_integer(cell)
    try:
        float(cell)
    except ValueError:
        return _printable(cell)
    # Python parses nan, inf, 1_0 and digits of other scripts as numbers, so they are probably not meant as text.
    raise ValueError(f"{shown(cell)} is not a class; leave the cell empty if the label is missing")


def text_integer(cell: str) -> int:
    """Parse a 64-bit integer, written as ``12`` or ``12.0``."""
    if INTEGER.fullmatch(cell):
        # Python refuses to convert thousands of digits, so the length is checked first.
        if len(cell) > 40:
            raise ValueError(f"{shown(cell)} does not fit 64 bits")
        return _fitting(int(cell))
    if not REAL.fullmatch(cell):
        raise ValueError(f"{shown(cell)} is not an integer" if cell else "a value is missing")
    return whole(float(cell))


def whole(value: float) -> int:
    """Return a float as the integer that it represents exactly."""
    if not value.is_integer() or abs(value) > _EXACT:
        raise ValueError(f"{shown(value)} is not an integer; {_REMEDY}")
    return int(value)


def first_unlike(labels: Sequence[Label | None]) -> int | None:
    """Return the index of the first label whose kind, number or text, differs from the first label's."""
    kinds = [isinstance(label, str) for label in labels if label is not None]
    if not kinds or all(kinds) or not any(kinds):
        return None
    return next(i for i, label in enumerate(labels) if label is not None and isinstance(label, str) != kinds[0])


def shown(value: object) -> str:
    """Return a value as messages quote it: short and on one line."""
    names = {list: "a list", dict: "an object", type(None): "null", bool: str(value).lower()}
    if type(value) in names:
        return names[type(value)]
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:32]}…{text[-1] if isinstance(value, str) else ''}"


def _fitting(value: int) -> int:
    if not -(2**63) <= value < 2**63:
        raise ValueError(f"{shown(value)} does not fit 64 bits")
    return value


def _printable(text: str) -> str:
    if not text or not text.isprintable():
        raise ValueError(f"{shown(text)} is not a class; use printable text, and leave missing classes out")
    return text
