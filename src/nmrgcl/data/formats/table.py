"""Comma-separated numbers as arrays: a fast reading for whole blocks, a slow one that names the offending line.

The slow reading defines what is accepted; the fast one only takes blocks about which there is no doubt.
"""

import re
import warnings
from collections.abc import Iterator

import numpy as np

from nmrgcl.data.files.archive import Readable
from nmrgcl.errors import DataError

BLOCK = 16 << 20
_NUMBER, _COMMA, _NEWLINE = 1, 2, 3
_KIND = bytearray(256)  # what a byte is for the structure of a line; padding is 0
for _byte in b"0123456789+-.eE":
    _KIND[_byte] = _NUMBER
_KIND[ord(",")], _KIND[ord("\n")] = _COMMA, _NEWLINE
_LAYOUT = b" \t\r\n,"
_MISPLACED_SIGN = re.compile(rb"[+-](?![0-9.])|[0-9.][+-]")
_INTEGER = re.compile(rb"[+-]?[0-9]+")
# Possessive: to refuse a million digits, backtracking would try every way to divide them.
_REAL = re.compile(rb"[+-]?(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
_REMEDY = "correct that line or fetch the dataset again"


def read_table(stream: Readable, file: str, *, integers: bool, columns: int | None = None) -> np.ndarray:
    """``[rows, columns]`` int64 or float32; line ``i`` is row ``i - 1``; the first line decides ``columns`` if None.

    Line ends of either kind, padding and blank lines at the end are fine; anything else is an error.
    """
    parts: list[np.ndarray] = []
    line, blank = 1, 0
    for block in _blocks(stream, file):
        body = block.rstrip(b" \t\r\n")
        rows = 0
        if body:
            if blank:
                raise DataError(f"{file}, line {line - blank}: is blank; {_REMEDY}")
            body += b"\n"
            if columns is None:
                columns = body[: body.index(b"\n")].count(b",") + 1
            values = _read_block(body, integers, columns)
            if values is None:
                values = _read_lines(body, file, line, integers, columns)
            parts.append(values)
            rows = len(values)
        lines = block.count(b"\n")
        line, blank = line + lines, blank + lines - rows
    if not parts:
        raise DataError(f"{file}, line 1: the file is empty; fetch the dataset again")
    return np.concatenate(parts)


def _blocks(stream: Readable, file: str) -> Iterator[bytes]:
    """The stream in pieces that end where lines end."""
    rest, line = b"", 1
    while data := stream.read(BLOCK):
        if line == 1 and not rest:
            data = data.removeprefix(b"\xef\xbb\xbf")  # the mark some editors put in front of UTF-8
        head, newline, tail = data.rpartition(b"\n")
        if newline:
            block = rest + head + newline
            yield block
            line, rest = line + block.count(b"\n"), tail
        else:
            rest += data
        if len(rest) > BLOCK:
            raise DataError(f"{file}, line {line}: is longer than {BLOCK >> 20} MiB; is this a text file?")
    if rest:
        yield rest


def _read_block(body: bytes, integers: bool, columns: int) -> np.ndarray | None:
    """All lines at once, or None where one of them needs a closer look."""
    if body.translate(None, _LAYOUT + (b"0123456789+-" if integers else b"0123456789+-.eE")):
        return None
    if (b"-" in body or b"+" in body) and _MISPLACED_SIGN.search(body):
        return None
    kinds = np.frombuffer(body.translate(bytes(_KIND)), np.uint8)
    number = kinds == _NUMBER
    event = kinds > _NUMBER
    event[0] |= number[0]
    event[1:] |= number[1:] > number[:-1]
    where = np.flatnonzero(event)
    # Where numbers begin and where fields end must alternate: one number a field, every line with all its fields.
    line = np.array([_NUMBER, _COMMA] * (columns - 1) + [_NUMBER, _NEWLINE], np.uint8)
    if len(where) % len(line) or not (kinds[where].reshape(-1, len(line)) == line).all():
        return None
    if integers and int((where[1::2] - where[::2]).max()) > 18:  # longer ones may not fit 64 bits
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # NumPy before 2.3 only warns where it stops early
            values = np.fromstring(body.replace(b",", b" "), np.int64 if integers else np.float64, sep=" ")
    except (ValueError, DeprecationWarning):
        return None
    if not integers:
        with np.errstate(over="ignore"):
            values = values.astype(np.float32)
    if 2 * len(values) != len(where) or not np.isfinite(values).all():
        return None
    return values.reshape(-1, columns)


def _read_lines(body: bytes, file: str, first: int, integers: bool, columns: int) -> np.ndarray:
    """The same line by line; the first of them is number ``first`` of the file."""
    rows: list[list[float]] = []
    for number, line in enumerate(body.split(b"\n")[:-1], first):
        try:
            rows.append(_read_line(line, integers, columns))
        except ValueError as error:
            raise DataError(f"{file}, line {number}: {error}; {_REMEDY}") from None
    return np.array(rows, np.int64 if integers else np.float32)


def _read_line(line: bytes, integers: bool, columns: int) -> list[float]:
    for byte in line:
        if byte != 9 and byte != 13 and not 32 <= byte < 127:
            raise ValueError(f"byte 0x{byte:02x} does not belong in a text of numbers")
    if not line.strip():
        raise ValueError("is blank")
    fields = [field.strip(b" \t\r") for field in line.split(b",")]
    if len(fields) != columns:
        raise ValueError(f"has {len(fields)} comma-separated values instead of {columns}")
    return [_read_field(field, integers) for field in fields]


def _read_field(field: bytes, integers: bool) -> float:
    if not field:
        raise ValueError("a value is missing")
    shown = repr(field.decode("ascii") if len(field) <= 32 else field[:32].decode("ascii") + "…")
    if len(field.split()) > 1:
        raise ValueError(f"{shown} is not one number; values are separated by commas")
    if not (_INTEGER if integers else _REAL).fullmatch(field):
        raise ValueError(f"{shown} is not {'an integer' if integers else 'a finite number'}")
    if integers:
        # Python refuses to convert thousands of digits, so the length is looked at first.
        if len(field) > 40 or not -(2**63) <= int(field) < 2**63:
            raise ValueError(f"{shown} does not fit 64 bits")
        return int(field)
    with np.errstate(over="ignore"):
        if np.isinf(np.float32(float(field))):
            raise ValueError(f"{shown} does not fit a 32-bit float")
    return float(field)
