"""Cut a file of SMILES into ranges of lines, each of which can be read by itself."""

import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nmrgcl import reading
from nmrgcl.data.formats.text import MAX_LINE
from nmrgcl.data.molecules.read import MoleculeListing
from nmrgcl.data.molecules.tables import SMILES, smi_table
from nmrgcl.errors import DataError, printable

BLOCK = 1 << 20
"""Number of bytes in memory at a time, extended to the end of a line."""
_END = re.compile(rb"\r\n|\r|\n")
_NAMED = re.compile(rb"[^ \t\f\r\n][ \t\f]+[^ \t\f\r\n]")
_HEADER = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\f]*smiles(?:[ \t\f][^\r\n]*)?(?:[\r\n]|$)", re.IGNORECASE)
_COMPRESSED = (b"\x1f\x8b", b"\xfd7zXZ\x00", b"BZh", b"PK\x03\x04", b"\x28\xb5\x2f\xfd")


class LineRange(NamedTuple):
    """The bytes ``start`` … ``end - 1`` of a file, which are ``lines`` lines after the first ``before`` lines."""

    start: int
    end: int
    before: int
    lines: int


@dataclass(frozen=True)
class SmilesFile:
    """A file of SMILES: its ranges, whether any of its molecules has a name, and its SHA-256."""

    path: Path
    ranges: tuple[LineRange, ...]
    named: bool
    digest: str


def cut_lines(path: Path, count: int) -> SmilesFile:
    """Read the file once and cut it into ``count`` ranges of nearly equal numbers of lines."""
    marks, named, digest = [(0, 0)], False, hashlib.sha256()
    for block in _blocks(path):
        digest.update(block)
        header = _HEADER.match(block) if len(marks) == 1 else None
        named = named or _has_name(block, header.end() if header else 0)
        marks.append((marks[-1][0] + len(block), marks[-1][1] + _count(block)))
    lines = marks[-1][1]
    if not lines:
        raise DataError(printable(f"{path}: is empty"))
    if not 1 <= count <= lines:
        raise DataError(printable(f"{path}: has {lines} lines, so it can be cut into at most {lines} shards"))
    firsts = [number * lines // count for number in range(count + 1)]
    starts = [*_positions(path, marks, firsts[:-1]), marks[-1][0]]
    pairs = zip(pairwise(starts), pairwise(firsts), strict=True)
    ranges = tuple(LineRange(start, end, first, last - first) for (start, end), (first, last) in pairs)
    return SmilesFile(path, ranges, named, digest.hexdigest())


def list_range(path: Path, lines: LineRange, *, named: bool) -> MoleculeListing:
    """Read one range of a file; the lines of its molecules are counted from the beginning of the file."""
    try:
        with reading.open_file(path) as stream:
            stream.seek(lines.start)
            content = stream.read(lines.end - lines.start)
    except OSError as error:
        raise _unreadable(path, error) from None
    table = smi_table(content, path, before=lines.before, named=named)
    if not len(table.lines):
        told = f"lines {lines.before + 1} to {lines.before + lines.lines} contain no molecule"
        raise DataError(printable(f"{path}: {told}; use fewer shards"))
    return MoleculeListing(path, table, SMILES, (), np.zeros((len(table.lines), 0), np.float32))


def _blocks(path: Path) -> Iterator[bytes]:
    """Yield the file in blocks that end with a line."""
    try:
        with reading.open_file(path) as stream:
            if stream.peek(6).startswith(_COMPRESSED):
                raise DataError(printable(f"{path}: is compressed, so it cannot be cut; decompress it first"))
            while block := stream.read(BLOCK):
                block += b"" if block.endswith(b"\n") else stream.readline(MAX_LINE)
                if len(block) >= MAX_LINE:
                    raise DataError(printable(f"{path}: has a line above {MAX_LINE >> 20} MiB; is this a text file?"))
                yield block
    except OSError as error:
        raise _unreadable(path, error) from None


def _has_name(block: bytes, start: int) -> bool:
    """Return True if white space separates a SMILES from a name; the search for one is slow."""
    return any(space in block for space in (b" ", b"\t", b"\f")) and _NAMED.search(block, start) is not None


def _count(block: bytes) -> int:
    """Return the number of lines; the last line of a file may lack its end."""
    ends = block.count(b"\n") + block.count(b"\r") - block.count(b"\r\n")
    return ends + (not block.endswith((b"\n", b"\r")))


def _positions(path: Path, marks: list[tuple[int, int]], lines: list[int]) -> Iterator[int]:
    """Yield where each of ``lines``, counted from 0, begins; ``marks`` are positions and their lines."""
    with reading.open_file(path) as stream:
        for line in lines:
            at = bisect_right(marks, line, key=lambda mark: mark[1]) - 1
            start, before = marks[at]
            if line == before:
                yield start
                continue
            stream.seek(start)
            ends = _END.finditer(stream.read(marks[at + 1][0] - start))
            yield start + next(islice(ends, line - before - 1, None)).end()


def _unreadable(path: Path, error: OSError) -> DataError:
    return DataError(printable(f"{path}: cannot be read ({error.strerror})"))
