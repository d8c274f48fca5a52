"""One writer a folder: a lock that the system takes back when its owner dies, however it dies."""

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nmrgcl.errors import SettingError

NAME = ".lock"


@contextmanager
def locked(folder: Path, name: str = NAME, *, wait: bool = False) -> Iterator[None]:
    """Hold ``folder/name`` while the block runs; SettingError where another process does, unless ``wait``.

    The file itself stays: removing it would let two processes hold locks on two files of one name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            owner = os.pread(descriptor, 200, 0).decode("utf-8", "replace").strip() or "another process"
            raise SettingError(f"{folder}: {owner} is writing here; wait for it or choose another folder") from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)
