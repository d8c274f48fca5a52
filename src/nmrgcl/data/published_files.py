"""Compare the files of a dataset with the digests of the published ones.

``SHA256SUMS`` lists the published files byte for byte, because statistics alone would not reveal shuffled labels.
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
    """Return the SHA-256 of each known file of a dataset, by file name; empty if none is known."""
    rows = [line.split("  ") for line in reading.read_text(_LIST).splitlines()]
    return {place.partition("/")[2]: digest for digest, place in rows if place.startswith(f"{dataset}/")}


def differing_files(dataset: str, source: Path) -> list[str]:
    """Return the known files that are missing from ``source``, an archive or folder, or differ from the published."""
    known = published_files(dataset)
    found = {name: _digest(stream, name) for name, stream in members(source, known.__contains__)} if known else {}
    return [name for name, digest in known.items() if found.get(name) != digest]


def require_files(dataset: str, source: Path) -> None:
    """Raise DataError unless every known file is identical to the published one."""
    if differing := differing_files(dataset, source):
        raise DataError(
            f"{source}: differs from the published {dataset}: {', '.join(differing)} "
            f"{'is' if len(differing) == 1 else 'are'} missing or changed; "
            "replace the file, or pass its path to use it as it is"
        )


def _digest(stream: Readable, name: str) -> str:
    """Hash a file, ignoring carriage returns in text: copies made on Windows have CRLF line ends."""
    digest, is_text = hashlib.sha256(), name.endswith(".txt")
    while data := stream.read(_CHUNK):
        digest.update(data.replace(b"\r", b"") if is_text else data)
    return digest.hexdigest()
