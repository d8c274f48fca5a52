"""Parse the values of GML and GraphML attributes."""

import numpy as np

from nmrgcl.data.formats.classes import INTEGER, REAL, shown, text_integer
from nmrgcl.errors import DataError

Value = bool | int | float | str | np.ndarray
"""Files contain single values; graphs in memory may also have ``[D]`` numbers."""
Values = dict[str, Value]

LARGEST = (2 - 2**-23) * 2.0**127
"""The largest 32-bit float."""

_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def read_integer(text: str) -> int:
    """Parse a 64-bit integer; raise ValueError for anything else."""
    if not INTEGER.fullmatch(text):
        raise ValueError(f"{shown(text)} is not an integer")
    return text_integer(text)


def read_real(text: str) -> float:
    """Parse a finite 32-bit float; raise ValueError for anything else."""
    if not REAL.fullmatch(text):
        raise ValueError(f"{shown(text)} is not a finite number")
    if abs(value := float(text)) > LARGEST:
        raise ValueError(f"{shown(text)} does not fit a 32-bit float")
    return value


def read_boolean(text: str) -> bool:
    """Parse ``true``, ``false``, ``1`` or ``0``, ignoring case; raise ValueError for anything else."""
    if (value := _BOOLEANS.get(text.lower())) is None:
        raise ValueError(f"{shown(text)} is neither true nor false")
    return value


def refusal(file: str, line: int, why: str) -> DataError:
    """Return the error about a line of a file."""
    return DataError(f"{file}, line {line}: {why}")
