"""Read comma-separated numbers with ``numpy.loadtxt``, but strictly, in blocks, and with line numbers in errors."""

import io
import warnings
from collections.abc import Iterator

import numpy as np

from nmrgcl.data.files.archive import Readable
from nmrgcl.errors import DataError

BLOCK = 4 << 20
MAX_LINE = 16 << 20

_LAYOUT = b", \t\r\n"
_INTEGERS = _LAYOUT + b"+-0123456789"
_REALS = _INTEGERS + b".eE"


def read_table(stream: Readable, file: str, *, integers: bool, columns: int | None = None) -> np.ndarray:
    """Return ``[rows, columns]`` int64 or float32, one row per line; the first line determines ``columns`` if None.

    CRLF line ends, padding, and blank lines at the end are accepted; anything else is an error.
    """
    parts: list[np.ndarray] = []
    line = 1
    for block in _blocks(stream, file):
        if columns is None:
            columns = block.partition(b"\n")[0].count(b",") + 1
        rows = _read_block(block, integers, columns)
        if rows is None:
            raise _refused(block.split(b"\n"), file, line, integers, columns)
        parts.append(rows)
        line += len(rows)
    if not parts:
        raise DataError(f"{file}, line 1: the file is empty; download the dataset again")
    return np.concatenate(parts)


def _blocks(stream: Readable, file: str) -> Iterator[bytes]:
    """Yield blocks of whole lines without the final line break; the last line of a block is not blank."""
    rest, line = b"", 1
    while data := stream.read(BLOCK):
        if line == 1 and not rest:
            data = data.removeprefix(b"\xef\xbb\xbf")  # a byte order mark
        rest += data
        # Blank lines are allowed only at the end of the file, so the last non-blank line waits for what follows.
        block, newline, _ = rest.rstrip(_LAYOUT[1:]).rpartition(b"\n")
        if newline:
            yield block
            line, rest = line + block.count(b"\n") + 1, rest[len(block) + 1 :]
        if len(rest) > MAX_LINE:
            raise DataError(f"{file}, line {line}: is longer than {MAX_LINE >> 20} MiB; is this a text file?")
    if rest := rest.rstrip(_LAYOUT[1:]):
        yield rest


def _read_block(block: bytes, integers: bool, columns: int) -> np.ndarray | None:
    """Return one row per line, or None if a line does not consist of ``columns`` finite numbers."""
    if block.translate(None, _INTEGERS if integers else _REALS):
        return None  # loadtxt would accept NaN and Unicode white space
    lines, dtype = block.count(b"\n") + 1, np.int64 if integers else np.float32
    try:
        with warnings.catch_warnings(), np.errstate(over="ignore"):
            warnings.simplefilter("error")  # it only warns about blank lines
            text = io.StringIO(block.decode("ascii"))
            rows = np.loadtxt(text, dtype, comments=None, delimiter=",", ndmin=2, max_rows=lines)
    except (ValueError, OverflowError, Warning):
        return None
    return rows if rows.shape == (lines, columns) and (integers or np.isfinite(rows).all()) else None


def _refused(lines: list[bytes], file: str, number: int, integers: bool, columns: int) -> DataError:
    """Find the first wrong line by bisection; ``number`` is the number of the first line."""
    while len(lines) > 1:
        half = len(lines) // 2
        if _read_block(b"\n".join(lines[:half]), integers, columns) is None:
            lines = lines[:half]
        else:
            lines, number = lines[half:], number + half
    shown = repr(lines[0][:40].decode("ascii", "backslashreplace")) if lines[0].strip() else "a blank line"
    kind = "64-bit integer" if integers else "finite 32-bit number"
    wanted = f"{columns} comma-separated values, each a {kind}" if columns > 1 else f"a {kind}"
    return DataError(f"{file}, line {number}: expected {wanted}, not {shown}; correct it or download the dataset again")
