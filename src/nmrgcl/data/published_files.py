"""Files of published datasets that are known byte for byte.

``SHA256SUMS`` lists the members of archives whose copies here are identical to the originals: counts alone would not
tell shuffled labels from the published ones.
"""

import hashlib
from functools import cache
from pathlib import Path

from nmrgcl import reading
from nmrgcl.data.files.archive import Readable, members
from nmrgcl.errors import DataError

_LIST = Path(__file__).with_name("SHA256SUMS")
_CHUNK = 1 << 16


@cache
def published_files(dataset: str) -> dict[str, str]:
    """SHA-256 of each known file of a dataset, by file name; empty where none is known."""
    rows = [line.split("  ") for line in reading.read_text(_LIST).splitlines()]
    return {place.partition("/")[2]: digest for digest, place in rows if place.startswith(f"{dataset}/")}


def differing_files(dataset: str, source: Path) -> list[str]:
    """The known files that ``source``, an archive or a folder, does not hold as they were published."""
    known = published_files(dataset)
    found = {name: _digest(stream, name) for name, stream in members(source, known.__contains__)} if known else {}
    return [name for name, digest in known.items() if found.get(name) != digest]


def require_files(dataset: str, source: Path) -> None:
    """Raise unless every known file is the published one."""
    if differing := differing_files(dataset, source):
        raise DataError(
            f"{source}: not {dataset} as published: {', '.join(differing)} "
            f"{'is' if len(differing) == 1 else 'are'} missing or changed; "
            "replace the file, or pass its path to use it as it is"
        )


def _digest(stream: Readable, name: str) -> str:
    """Lines may also end with CRLF, as in copies that went through Windows."""
    digest, is_text = hashlib.sha256(), name.endswith(".txt")
    while data := stream.read(_CHUNK):
        digest.update(data.replace(b"\r", b"") if is_text else data)
    return digest.hexdigest()
