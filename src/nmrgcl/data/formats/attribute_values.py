"""Values of attributes as text spells them, and how a message shows them."""

import re

import numpy as np

from nmrgcl.errors import DataError

Value = bool | int | float | str | np.ndarray
"""Files hold single values; in memory there are also ``[D]`` numbers."""
Values = dict[str, Value]

LARGEST = (2 - 2**-23) * 2.0**127
"""The largest 32-bit float."""

_INTEGER = re.compile(r"[+-]?[0-9]+")
# Possessive: to refuse a million digits, backtracking would try every way to divide them.
_REAL = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def read_integer(text: str) -> int:
    """An integer of 64 bits; ``ValueError`` says what else it is."""
    if not _INTEGER.fullmatch(text):
        raise ValueError(f"{shown(text)} is not an integer")
    # Python refuses to convert thousands of digits, so the length is looked at first.
    if len(text) > 40 or not -(2**63) <= (value := int(text)) < 2**63:
        raise ValueError(f"{shown(text)} does not fit 64 bits")
    return value


def read_real(text: str) -> float:
    """A number within the range of 32-bit floats; ``ValueError`` says what else it is."""
    if not _REAL.fullmatch(text):
        raise ValueError(f"{shown(text)} is not a finite number")
    if abs(value := float(text)) > LARGEST:
        raise ValueError(f"{shown(text)} does not fit a 32-bit float")
    return value


def read_boolean(text: str) -> bool:
    """``true``, ``false``, ``1`` or ``0``, in capitals or not; ``ValueError`` says what else it is."""
    if (value := _BOOLEANS.get(text.lower())) is None:
        raise ValueError(f"{shown(text)} is neither true nor false")
    return value


def shown(value: object) -> str:
    """A value from a file as a message quotes it: in one line, and short."""
    if isinstance(value, str) and len(value) > 32:
        value = value[:32] + "…"
    return repr(value)


def refusal(file: str, line: int, why: str) -> DataError:
    """The error to raise about a line of a file."""
    return DataError(f"{file}, line {line}: {why}")
