"""A lock for one writer per folder, which the system releases when its owner dies."""

import fcntl
import os
import re
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nmrgcl.errors import SettingError

NAME = ".lock"
_OWNER = re.compile(r"process \d+ on [^\n]*\n")


class BusyError(SettingError):
    """Another process holds the lock."""


@contextmanager
def locked(folder: Path, name: str = NAME, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock ``folder/name`` inside the block; raise BusyError if another process holds it, unless ``wait``.

    The file is not removed afterwards, because two processes could then lock two files of the same name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    descriptor, new = _open(folder / name)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            owner = _owner(descriptor).strip() or "another process"
            raise BusyError(f"{folder}: {owner} is writing here; wait for it or choose another folder") from None
        if new or _owner(descriptor):  # a file of another program is locked, but not overwritten
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _open(path: Path) -> tuple[int, bool]:
    """Open the file without following links; also return True if it was created."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666), True
    except FileExistsError:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise SettingError(f"{path}: is not a regular file; remove it or choose another folder") from None
        return os.open(path, flags), False


def _owner(descriptor: int) -> str:
    """Return the note of an earlier owner; empty if the file contains anything else."""
    text = os.pread(descriptor, 300, 0).decode("utf-8", "replace")
    return text if _OWNER.fullmatch(text) else ""
