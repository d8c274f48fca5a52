"""Exchange results: pack many into one file, and merge files and folders into one folder."""

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nmrgcl import atomic, reading
from nmrgcl.errors import DataError
from nmrgcl.record import RecordError, RecordFormat
from nmrgcl.run.results import RESULT, DamagedError, Result, Results, parse_result

PACK = RecordFormat("nmrgcl-results", 1, "a pack of results", sealed=False)
"""The first line of a pack; each of the other lines is a result."""
_REMEDY = "copy the file again"


@dataclass
class MergedResults:
    """The keys of merged cells by outcome, and one line about each file that could not be used."""

    added: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def write_pack(path: Path, results: Iterable[Result]) -> int:
    """Write finished cells as gzipped JSON lines with checksums; equal results give identical files."""
    lines = [result.to_json() for result in sorted(results, key=lambda result: result.key)]
    head = PACK.to_text({"results": len(lines)})
    stream = io.BytesIO()
    # Without the time and file name that gzip usually records.
    with gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0) as file:
        file.writelines(f"{line}\n".encode() for line in (head, *lines))
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic.write_bytes(path, stream.getvalue())
    return len(lines)


def read_pack(path: Path) -> list[Result]:
    """All finished cells of a pack; DataError with the line number if anything differs from what was written."""
    try:
        with reading.open_file(path) as packed, gzip.GzipFile(fileobj=packed) as file:
            return list(_entries(path, file))
    except OSError as error:  # gzip.BadGzipFile is one of these.
        raise DataError(f"{path}: cannot be read ({error.strerror or 'not a pack of results'}); {_REMEDY}") from None
    except (EOFError, zlib.error):
        raise DataError(f"{path}: damaged or cut short; {_REMEDY}") from None


def merge(into: Results, sources: Sequence[Path]) -> MergedResults:
    """Add the finished cells of packs and folders; if a cell exists with other scores, it is kept and reported."""
    merged = MergedResults()
    gathered: list[Result] = []
    for source in sources:
        if source.is_dir():
            found, problems = Results(source).all()
            merged.problems += problems
            gathered += found
        elif source.exists():
            gathered += read_pack(source)
        else:
            raise DataError(f"{source}: no such pack or folder of results")
    # Only now that everything has been read: a damaged pack must add nothing.
    for result in gathered:
        there = into.finished(result.key)
        if there is None:
            into.put(result)
            merged.added.append(result.key)
        else:
            same = _same(there, result)
            (merged.same if same else merged.conflicts).append(result.key)
            if same and "inner" in result.scores and "inner" not in there.scores:
                into.put(result)  # Earlier versions did not record inner scores.
    return merged


def _same(one: Result, other: Result) -> bool:
    """Whether the two results agree in everything that both of them record."""
    both = one.scores.keys() & other.scores.keys()
    return one.chosen == other.chosen and all(one.scores[part] == other.scores[part] for part in both)


def _entries(path: Path, file: gzip.GzipFile) -> Iterator[Result]:
    count = _read_head(path, file.readline(RESULT.limit))
    seen = set()
    for number in range(2, count + 2):
        line = file.readline(RESULT.limit)
        if not line.endswith(b"\n"):
            raise DataError(f"{path}, line {number}: cut short, the first line announces {count} results; {_REMEDY}")
        try:
            result = parse_result(line, f"{path}, line {number}")
        except DamagedError as error:
            raise DataError(f"{error}; {_REMEDY}") from None
        if result.status != "done" or result.key in seen:
            raise DataError(f"{path}, line {number}: not a finished cell, or a duplicate; {_REMEDY}")
        seen.add(result.key)
        yield result
    if file.read(1):
        raise DataError(f"{path}, line {count + 2}: more than the {count} results announced; {_REMEDY}")


def _read_head(path: Path, line: bytes) -> int:
    try:
        count = PACK.parse(line).get("results")
        if type(count) is not int or count < 0:
            raise PACK.mismatch
    except RecordError as error:
        raise error.told(DataError, f"{path}, line 1", "make one with nmrgcl results pack") from None
    return count
