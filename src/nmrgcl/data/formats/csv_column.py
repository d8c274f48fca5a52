"""The columns of a table about graphs: identifiers, numbers, integers and classes, converted many cells at a time."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nmrgcl.data.dataset import Label
from nmrgcl.data.formats.classes import INTEGER, REAL, shown, text_integer, text_label
from nmrgcl.data.formats.ragged import first_refused
from nmrgcl.errors import DataError

Convert = Callable[[Sequence[str]], Any]
"""Cells to an array or list of as many values; whether one is right does not depend on the others."""
_REALS = re.compile(f"(?:{REAL.pattern}\n)*")
_INTEGERS = re.compile(r"(?:[+-]?[0-9]{1,18}\n)*")  # longer ones may not fit 64 bits


class Column:
    """The cells of one column so far, converted."""

    def __init__(self, file: str, name: str, convert: Convert) -> None:
        self.file, self.name, self.convert = file, name, convert
        self.parts: list[Any] = []

    def add(self, cells: Sequence[str], line: int) -> None:
        """More cells, the first of them on line ``line``; the first that is not right is named."""
        try:
            self.parts.append(self.convert(cells))
        except ValueError:
            at = first_refused(cells, self.convert)
            reason = _reason(self.convert, cells[at])
            raise DataError(f"{self.file}, line {line + at}: {self.name}: {reason}; correct the cell") from None

    def array(self) -> np.ndarray:
        """``[rows]``."""
        return np.concatenate(self.parts) if self.parts else self.convert([])

    def list(self) -> list[Any]:
        """The same for values that are no numbers."""
        return [value for part in self.parts for value in part]


class Ids(dict[str, int]):
    """Identifiers and their codes, in the order in which they were first met."""

    def __missing__(self, text: str) -> int:
        code = self[text] = len(self)
        return code

    def convert(self, cells: Sequence[str]) -> np.ndarray:
        """``[rows]`` int64 codes."""
        if "" in cells:
            raise ValueError("a value is missing")
        return np.fromiter(map(self.__getitem__, cells), np.int64, len(cells))

    def merged(self) -> np.ndarray:
        """The final code of each code: where all identifiers are integers of 64 bits, 7 and 07 are one."""
        if not all(len(text) < 40 and INTEGER.fullmatch(text) for text in self):
            return np.arange(len(self))
        first: dict[int, int] = {}
        codes = [first.setdefault(int(text), len(first)) for text in self]
        fit = all(-(2**63) <= number < 2**63 for number in first)
        return np.array(codes, np.int64) if fit else np.arange(len(self))


def reals(cells: Sequence[str]) -> np.ndarray:
    """Finite numbers as float32."""
    if "" in cells:
        raise ValueError("a value is missing")
    if _REALS.fullmatch("\n".join([*cells, ""])):
        with np.errstate(over="ignore"):
            values = np.fromiter(map(float, cells), np.float32, len(cells))
        if np.isfinite(values).all():
            return values
    raise ValueError(f"{shown(cells[0])} is not a finite number that fits a 32-bit float")


def positives(cells: Sequence[str]) -> np.ndarray:
    """Weights."""
    values = reals(cells)
    if not (values > 0).all():
        raise ValueError(f"{shown(cells[0])} is not a positive number that fits a 32-bit float")
    return values


def integers(cells: Sequence[str]) -> np.ndarray:
    """Integers as int64, also if written as 1.0."""
    convert = int if _INTEGERS.fullmatch("\n".join([*cells, ""])) else text_integer
    return np.fromiter(map(convert, cells), np.int64, len(cells))


def classes(cells: Sequence[str]) -> list[Label | None]:
    """Classes; an empty cell is a missing one."""
    return [text_label(cell) for cell in cells]


def _reason(convert: Convert, cell: str) -> str:
    try:
        convert([cell])
    except ValueError as error:
        return str(error)
    raise AssertionError("a cell is wrong by itself")
