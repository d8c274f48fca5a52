"""The fast reading of a block may only accept what the slow one accepts, and then gives the same numbers."""

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmrgcl.data.formats.table import _read_block, _read_lines, read_table
from nmrgcl.errors import DataError

TOKENS = [
    "1",
    "-2",
    "+3",
    "17",
    "0",
    ".",
    ".5",
    "2.",
    "1e3",
    "e",
    "-",
    "+",
    "1e-2",
    "1e39",
    "9" * 18,
    "9" * 19,
    "9" * 30,
]
PIECES = st.sampled_from([*TOKENS, *[","] * 8, *["\n"] * 8, *[" "] * 4, "\t", "\r"])


@settings(max_examples=600, deadline=None, derandomize=True)
@given(st.lists(PIECES, min_size=1, max_size=14), st.booleans(), st.integers(1, 3))
def test_fast_and_slow_agree_on_any_jumble(pieces: list[str], integers: bool, columns: int) -> None:
    compare("".join(pieces), integers, columns)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.data(), st.booleans(), st.integers(1, 3))
def test_fast_and_slow_agree_on_tables(data: st.DataObject, integers: bool, columns: int) -> None:
    rows = data.draw(st.lists(st.lists(st.sampled_from(TOKENS), min_size=columns, max_size=columns), min_size=1))
    compare("\n".join(", ".join(row) for row in rows), integers, columns)


def compare(text: str, integers: bool, columns: int) -> None:
    body = text.encode().rstrip(b" \t\r\n") + b"\n"
    fast = _read_block(body, integers, columns) if body.strip() else None
    if fast is not None:
        slow = _read_lines(body, "t", 1, integers, columns)
        assert fast.dtype == slow.dtype
        assert np.array_equal(fast, slow)


@pytest.mark.parametrize(("text", "integers"), [("1, -2\n+3,4", True), ("1e-3, .5\n-2., +7E2\n", False)])
def test_ordinary_tables_take_the_fast_way(text: str, integers: bool) -> None:
    fast = _read_block(text.strip().encode() + b"\n", integers, 2)
    expected = [[float(field) for field in line.split(",")] for line in text.strip().splitlines()]
    assert fast is not None
    assert np.array_equal(fast, np.array(expected, fast.dtype))


class Trickle(io.BytesIO):
    """A stream that gives one byte at a time, as streams may."""

    def read(self, size: Any = -1, /) -> bytes:
        return super().read(min(size, 1))


def test_a_stream_may_trickle() -> None:
    data = b"\xef\xbb\xbf 10, 2\r\n3 ,44\r\n\r\n"
    table = read_table(Trickle(data.removeprefix(b"\xef\xbb\xbf")), "t", integers=True)
    assert table.tolist() == [[10, 2], [3, 44]]
    with pytest.raises(DataError, match=r"t, line 2: '4 4' is not one number"):
        read_table(Trickle(b"1\n4 4\n"), "t", integers=True)


def test_a_million_digits_that_end_wrongly_are_refused_at_once() -> None:
    with pytest.raises(DataError, match="is not a finite number"):
        read_table(io.BytesIO(b"1" * 1_000_000 + b"x\n"), "T.txt", integers=False)
