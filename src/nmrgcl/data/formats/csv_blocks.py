"""Comma-separated text with a header: its names, then its cells, many rows at a time."""

import csv
import re
from collections.abc import Iterator, Sequence

from nmrgcl.data.files.archive import Readable
from nmrgcl.data.formats.text import line_blocks
from nmrgcl.errors import DataError

Block = tuple[int, list[list[str]]]
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_SEPARATORS = {";": "semicolons", "\t": "tabs"}


def read_csv(stream: Readable, file: str) -> tuple[list[str], Iterator[Block]]:
    """The names in the first line, as they stand there; and blocks of rows: the line of the first, and its columns.

    Quotes are as usual, but a cell ends where its line does. Blanks around a cell do not count.
    """
    blocks = _rows(stream, file)
    first = next(blocks, None)
    if first is None:
        raise DataError(f"{file}, line 1: the file is empty; it begins with the names of its columns")
    header = [name.strip(" \t") for name in first[1][0]]
    for separator, plural in _SEPARATORS.items():
        if len(header) == 1 and separator in first[1][0][0].strip():
            raise DataError(f"{file}, line 1: columns are separated by {plural}; write commas")
    return header, _columns(first, blocks, len(header), file)


def _columns(first: tuple[int, list[list[str]]], rest: Iterator[Block], width: int, file: str) -> Iterator[Block]:
    rows = first[1][1:]
    if rows:
        yield 2, _transposed(rows, width, file, 2)
    for number, rows in rest:
        yield number, _transposed(rows, width, file, number)


def _transposed(rows: list[list[str]], width: int, file: str, number: int) -> list[list[str]]:
    if set(map(len, rows)) != {width}:
        at = next(i for i, row in enumerate(rows) if len(row) != width)
        raise DataError(
            f"{file}, line {number + at}: has {len(rows[at])} comma-separated values instead of {width}; "
            "correct that line"
        )
    return [[cell.strip(" \t") for cell in column] for column in zip(*rows, strict=True)]


def _rows(stream: Readable, file: str) -> Iterator[Block]:
    for number, ended in line_blocks(stream, file):
        lines = [line.removesuffix("\r") for line in ended]
        for i, line in enumerate(lines if _CONTROL.search("\n".join(lines)) else ()):
            if found := _CONTROL.search(line):
                raise DataError(f"{file}, line {number + i}: {found[0]!r} does not belong in a text; correct that line")
        rows = _parsed(lines)
        yield number, _parsed_singly(lines, file, number) if rows is None else rows


def _parsed(lines: Sequence[str]) -> list[list[str]] | None:
    """All rows at once; None where one of them is not a line, or not right."""
    try:
        rows = list(csv.reader(lines, strict=True, skipinitialspace=True))
    except csv.Error:
        return None
    return rows if len(rows) == len(lines) else None


def _parsed_singly(lines: Sequence[str], file: str, number: int) -> list[list[str]]:
    rows = []
    for i, line in enumerate(lines):
        row = _parsed([line])
        if row is None:
            raise DataError(
                f"{file}, line {number + i}: is not one row of CSV; close every quote on its line, double those inside"
            )
        rows += row
    return rows
