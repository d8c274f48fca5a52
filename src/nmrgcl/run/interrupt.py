"""Asking a run to end: by a signal, which is noted so that everything is kept, or by a file that an engine makes."""

import os
import secrets
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_LOOK_EVERY = 0.2
_PARENT = os.getppid()


class Interrupted(BaseException):
    """The run was asked to end by a signal and has kept what it had; not an error."""

    def __init__(self, signum: int) -> None:
        super().__init__(f"interrupted by {signal.Signals(signum).name}")
        self.signum = signum


class Signals:
    """The signal that was received, or None."""

    received: int | None = None

    def note(self, signum: int, frame: FrameType | None) -> None:
        """Remember the first one; at the second, do not wait any longer."""
        if self.received is not None:
            raise Interrupted(signum)
        self.received = signum

    def obey(self) -> None:
        """End here, if asked to."""
        if self.received is not None:
            raise Interrupted(self.received)


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


@contextmanager
def noted_signals() -> Iterator[Signals]:
    """SIGINT and SIGTERM as they come in, while the block runs."""
    signals = Signals()
    with handled(signals.note):
        yield signals


class TimeLimit:
    """A signal after ``seconds``, as if somebody had asked the run to end; 0: never."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.passed = False
        """Whether it was this that asked."""

    def _end(self) -> None:
        self.passed = True
        os.kill(os.getpid(), signal.SIGTERM)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count from here; for a block in which the signal is handled, or it would end the process."""
        timer = threading.Timer(self.seconds, self._end)
        timer.daemon = True
        try:
            if self.seconds:
                timer.start()
            yield
        finally:
            timer.cancel()
            if timer.ident is not None:  # one that is about to ask does so while it is listened to
                timer.join()


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
