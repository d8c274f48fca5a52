"""What may stand for a class: a whole number of 64 bits, or text."""

import re
from collections.abc import Sequence

from nmrgcl.data.dataset import Label

INTEGER = re.compile(r"[+-]?[0-9]+")
# Written so that each digit can match in one way only: a wrong cell of many digits is refused at once.
# Possessive: to refuse a million digits, backtracking would try every way to divide them.
REAL = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
_EXACT = 2**53
_REMEDY = "classes are whole numbers or text; leave out targets of a regression"


def json_label(value: object) -> Label | None:
    """A value of JSON as a class, None if it is null; ``ValueError`` says why it is none."""
    if value is None:
        return None
    if isinstance(value, float):
        return whole(value)
    if isinstance(value, int):
        return _fitting(int(value))
    if isinstance(value, str):
        return _printable(value)
    raise ValueError(f"{shown(value)} is no class; {_REMEDY}")


def text_label(cell: str) -> Label | None:
    """A cell as a class, None if it is empty; whatever looks like a number is one."""
    if not cell:
        return None
    if REAL.fullmatch(cell):
        return text_integer(cell)
    try:
        float(cell)
    except ValueError:
        return _printable(cell)
    # nan, inf, 1_0 and digits of other scripts: no numbers here, and as text they would be taken for a class.
    raise ValueError(f"{shown(cell)} is no class; leave the cell empty if the label is missing")


def text_integer(cell: str) -> int:
    """``12``, and also ``12.0``, as the integer it is."""
    if INTEGER.fullmatch(cell):
        # Python refuses to convert thousands of digits, so the length is looked at first.
        if len(cell) > 40:
            raise ValueError(f"{shown(cell)} does not fit 64 bits")
        return _fitting(int(cell))
    if not REAL.fullmatch(cell):
        raise ValueError(f"{shown(cell)} is not an integer" if cell else "a value is missing")
    return whole(float(cell))


def whole(value: float) -> int:
    """A float that is an integer, exactly."""
    if not value.is_integer() or abs(value) > _EXACT:
        raise ValueError(f"{shown(value)} is not a whole number; {_REMEDY}")
    return int(value)


def first_unlike(labels: Sequence[Label | None]) -> int | None:
    """Where text follows numbers or the other way round."""
    kinds = [isinstance(label, str) for label in labels if label is not None]
    if not kinds or all(kinds) or not any(kinds):
        return None
    return next(i for i, label in enumerate(labels) if label is not None and isinstance(label, str) != kinds[0])


def shown(value: object) -> str:
    """A value for a message: short and printable."""
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
        raise ValueError(f"{shown(text)} is no class; use text that can be printed, and nothing where it is missing")
    return text
