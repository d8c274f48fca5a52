"""Asking cells to end: a signal in their own process, or a file that their engine makes."""

import os
import secrets
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from nmrgcl.run.interrupt import Interrupted, Signals

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_LOOK_EVERY = 0.2
_PARENT = os.getppid()


@contextmanager
def handled(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """SIGINT and SIGTERM call ``handler`` while the block runs; in the main thread only, as signals do."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def end_at_once(signum: int, frame: FrameType | None) -> None:
    """A handler for work that is lost without harm."""
    raise Interrupted(signum)


class Stop(Signals):
    """The engine's side: its first signal makes ``path``, at which its workers end their cells with all they have."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / f".stop-{os.getpid()}-{secrets.token_hex(4)}"

    def note(self, signum: int, frame: FrameType | None) -> None:
        """Tell the workers; at the second signal, do not wait for them."""
        super().note(signum, frame)
        self.path.touch()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Note signals while the block runs."""
        try:
            with handled(self.note):
                yield
        finally:
            self.path.unlink(missing_ok=True)


def orphaned() -> bool:
    """Whether the process that started this one is gone."""
    return os.getppid() != _PARENT


@contextmanager
def watched(path: Path) -> Iterator[None]:
    """A worker's side: while the block runs, ``path`` appearing, or the engine dying, is SIGTERM to this process.

    The terminal's Ctrl-C is for the engine alone, so that a worker is not asked to end twice.
    """
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)
    over = threading.Event()

    def look() -> None:
        while not over.wait(_LOOK_EVERY):
            if path.exists() or orphaned():
                os.kill(os.getpid(), signal.SIGTERM)
                return

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
