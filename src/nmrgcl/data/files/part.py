"""A download that is not complete yet: its bytes, which file they are the beginning of, and who may add to them."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from nmrgcl import reading
from nmrgcl.atomic import write_text


@dataclass(frozen=True)
class Version:
    """What a server said about the file: enough to ask for the rest of this one and of no other."""

    url: str
    etag: str | None = None
    last_modified: str | None = None
    length: int | None = None

    @property
    def validator(self) -> str | None:
        """What ``If-Range`` may hold; a weak tag says that two files mean the same, not that their bytes are."""
        return self.etag if self.etag and not self.etag.startswith("W/") else self.last_modified


class Part:
    """``NAME.part`` and, once something has arrived, ``NAME.part.json``, which says of which version it is."""

    def __init__(self, target: Path, file: IO[bytes]) -> None:
        self.target, self.file = target, file
        self.path, self.record = _paths(target)
        self.version = _recorded(self.record)
        self.position = file.seek(0, os.SEEK_END)

    def continues(self, url: str) -> Version | None:
        """The version to ask ``url`` the rest of; None where only the whole will do."""
        version = self.version
        return version if version and version.validator and version.url == url and self.position else None

    def forget(self) -> None:
        """Keep the place, but nothing in it."""
        self.version, self.position = None, 0
        self.record.unlink(missing_ok=True)
        self.file.seek(0)
        self.file.truncate()

    def begin(self, version: Version) -> None:
        """What comes next is the start of ``version``."""
        self.forget()
        # Should the machine stop here, old bytes must not be found beside the new record.
        self.sync()
        self.version = version
        write_text(self.record, json.dumps(asdict(version)))

    def append(self, data: bytes) -> None:
        """Add what arrived; it stays there whatever becomes of this process."""
        self.file.write(data)
        self.file.flush()
        self.position += len(data)

    def sync(self) -> None:
        """Wait until the disk has it."""
        self.file.flush()
        os.fsync(self.file.fileno())

    def finish(self) -> None:
        """Put the file in its place."""
        self.sync()
        os.replace(self.path, self.target)
        self.record.unlink(missing_ok=True)
        folder = os.open(self.target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def discard(self) -> None:
        """Leave nothing; a process that waits for this part begins its own."""
        self.version, self.position = None, 0
        self.record.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)


@contextmanager
def part_of(target: Path) -> Iterator[Part | None]:
    """The part of ``target``, for this process alone until the block ends; None once the target is in its place.

    What is left behind can be continued: a part that cannot is removed.
    """
    path, _ = _paths(target)
    while not target.exists():
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644), "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if target.exists() or not _is(file, path):
                continue  # the process that was waited for has finished or discarded it
            part = Part(target, file)
            try:
                yield part
            finally:
                if _is(file, path) and not (part.version and part.continues(part.version.url)):
                    part.discard()
            return
    _clear(target)
    yield None


def _paths(target: Path) -> tuple[Path, Path]:
    path = target.with_name(target.name + ".part")
    return path, path.with_name(path.name + ".json")


def _recorded(path: Path) -> Version | None:
    """What the record says, if it can be believed."""
    try:
        version = Version(**json.loads(reading.read_bytes(path)))
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    fine: list[tuple[Any, type]] = [(version.url, str), (version.etag, str), (version.last_modified, str)]
    fine.append((version.length, int))
    return version if all(value is None or isinstance(value, kind) for value, kind in fine) else None


def _is(file: IO[bytes], path: Path) -> bool:
    """Whether the open file is still the one of that name."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    return False


def _clear(target: Path) -> None:
    """Remove the part of a file that somebody else put in its place, unless a process is still at it."""
    path, record = _paths(target)
    with suppress(OSError):
        record.unlink(missing_ok=True)
        with path.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
