"""Tables of numbers against their definition, line by line with Python's own numbers."""

import io
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmrgcl.data.formats.table import read_table
from nmrgcl.errors import DataError

TOKENS = ["1", "-2", "+3", "17", "0", ".", ".5", "2.", "1e3", "e", "-", "+", "1e-2", "1e39", "9" * 18, "9" * 19]
PIECES = st.sampled_from([*TOKENS, *[","] * 8, *["\n"] * 8, *[" "] * 4, "\t", "\r"])
FORMS = {True: r"[+-]?\d+", False: r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"}


def by_definition(text: str, integers: bool, columns: int) -> list[list[float]] | int:
    """The rows, or the number of the first line that is none."""
    rows = []
    for number, line in enumerate(text.rstrip(" \t\r\n").split("\n"), 1):
        fields = [field.strip(" \t\r") for field in line.split(",")]
        if len(fields) != columns or not all(re.fullmatch(FORMS[integers], field) for field in fields):
            return number
        values = [int(field) if integers else float(field) for field in fields]
        if any(abs(value) >= (2**63 if integers else 3.5e38) for value in values):
            return number
        rows.append(values)
    return rows


def compare(text: str, integers: bool, columns: int) -> None:
    expected = by_definition(text, integers, columns)
    if isinstance(expected, int):
        with pytest.raises(DataError, match=f"t, line {expected}: "):
            read_table(io.BytesIO(text.encode()), "t", integers=integers, columns=columns)
        return
    table = read_table(io.BytesIO(text.encode()), "t", integers=integers, columns=columns)
    assert table.dtype == (np.int64 if integers else np.float32)
    assert np.array_equal(table, np.array(expected, table.dtype))


@settings(max_examples=600, deadline=None, derandomize=True)
@given(st.lists(PIECES, min_size=1, max_size=14), st.booleans(), st.integers(1, 3))
def test_any_jumble_is_read_by_definition_or_refused_at_its_first_wrong_line(
    pieces: list[str], integers: bool, columns: int
) -> None:
    compare("".join(pieces), integers, columns)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.data(), st.booleans(), st.integers(1, 3))
def test_so_is_any_table(data: st.DataObject, integers: bool, columns: int) -> None:
    rows = data.draw(st.lists(st.lists(st.sampled_from(TOKENS), min_size=columns, max_size=columns), min_size=1))
    compare("\n".join(", ".join(row) for row in rows), integers, columns)


class Trickle(io.BytesIO):
    """A stream that gives one byte at a time, as streams may."""

    def read(self, size: Any = -1, /) -> bytes:
        return super().read(min(size, 1))


def test_a_stream_may_trickle() -> None:
    assert read_table(Trickle(b" 10, 2\r\n3 ,44\r\n\r\n"), "t", integers=True).tolist() == [[10, 2], [3, 44]]
    with pytest.raises(DataError, match=r"t, line 2: expected a 64-bit integer, not '4 4'"):
        read_table(Trickle(b"1\n4 4\n"), "t", integers=True)


def test_the_mark_in_front_of_utf_8_is_no_number() -> None:
    assert read_table(io.BytesIO(b"\xef\xbb\xbf1\n"), "t", integers=True).tolist() == [[1]]


def test_a_million_digits_that_end_wrongly_are_refused_at_once() -> None:
    with pytest.raises(DataError, match="expected a finite 32-bit number, not '1111"):
        read_table(io.BytesIO(b"1" * 1_000_000 + b"x\n"), "T.txt", integers=False)
