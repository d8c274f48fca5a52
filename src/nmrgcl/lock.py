"""One writer a folder: a lock that the system takes back when its owner dies, however it dies."""

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
    """Another process has the lock."""


@contextmanager
def locked(folder: Path, name: str = NAME, *, wait: bool = False) -> Iterator[None]:
    """Hold ``folder/name`` while the block runs; BusyError where another process does, unless ``wait``.

    The file itself stays: removing it would let two processes hold locks on two files of one name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    descriptor, new = _open(folder / name)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            owner = _owner(descriptor).strip() or "another process"
            raise BusyError(f"{folder}: {owner} is writing here; wait for it or choose another folder") from None
        if new or _owner(descriptor):  # the lock of another program is held, but its content is not ours
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _open(path: Path) -> tuple[int, bool]:
    """The file, and whether it was made just now; links are not followed."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666), True
    except FileExistsError:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise SettingError(f"{path}: is not a regular file; remove it or choose another folder") from None
        return os.open(path, flags), False


def _owner(descriptor: int) -> str:
    """What an earlier owner wrote; empty if the file holds anything else."""
    text = os.pread(descriptor, 300, 0).decode("utf-8", "replace")
    return text if _OWNER.fullmatch(text) else ""
