"""Read untrusted files: only regular files are opened, and only up to an expected size."""

import errno
import io
import os
import stat
from pathlib import Path

SMALL = 16 << 20
"""Largest size of settings, records and the like."""


def open_file(path: Path, limit: int | None = None) -> io.BufferedReader:
    """Open ``path``; raise OSError unless it is, or links to, a regular file of at most ``limit`` bytes.

    Reading a pipe could block, and a device such as /dev/zero never ends.
    """
    # The file owns its descriptor from the start: closed twice, it could be that of another file by then, and the error
    # would hide the signal that interrupted the reading.
    file = open(path, "rb", opener=_open_at_once)  # noqa: SIM115 - the caller closes it
    try:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
        if limit is not None and found.st_size > limit:
            raise _too_large(path, limit)
    except BaseException:
        file.close()
        raise
    return file


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def read_bytes(path: Path, limit: int | None = SMALL) -> bytes:
    """Read a regular file of at most ``limit`` bytes; raise OSError for anything else."""
    with open_file(path, limit) as file:
        if limit is None:
            return file.read()
        # Python allocates the full size requested, even for a file of a few bytes.
        content = file.read(os.fstat(file.fileno()).st_size + 1)
    if len(content) > limit:  # it has grown since
        raise _too_large(path, limit)
    return content


def read_text(path: Path, limit: int | None = SMALL) -> str:
    """Read a UTF-8 file; raise UnicodeDecodeError, a ValueError, if it is not UTF-8."""
    return read_bytes(path, limit).decode()


def _too_large(path: Path, limit: int) -> OSError:
    return OSError(errno.EFBIG, f"larger than the limit of {limit >> 20} MiB", os.fspath(path))
