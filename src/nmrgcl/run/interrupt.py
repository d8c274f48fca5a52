"""Stopping a run without losing work: a signal is noted and handled later; an engine stops its workers by a file."""

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
# A worker imports this while its engine is alive; a process whose parent dies gets another one.
_PARENT = os.getppid()


class Interrupted(BaseException):
    """A signal asked the run to stop, and it has saved its state; this is not an error."""

    def __init__(self, signum: int) -> None:
        super().__init__(f"interrupted by {signal.Signals(signum).name}")
        self.signum = signum


class Signals:
    """The signal that was received, or None."""

    received: int | None = None

    def note(self, signum: int, frame: FrameType | None) -> None:
        """Remember the first signal; stop at once on the second."""
        if self.received is not None:
            raise Interrupted(signum)
        self.received = signum

    def obey(self) -> None:
        """Stop here if a signal was received."""
        if self.received is not None:
            raise Interrupted(self.received)


@contextmanager
def handled(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Handle SIGINT and SIGTERM with ``handler`` while the block runs; only the main thread can install handlers."""
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
    """A signal handler for work that need not be saved."""
    raise Interrupted(signum)


@contextmanager
def noted_signals() -> Iterator[Signals]:
    """Record SIGINT and SIGTERM while the block runs, instead of stopping at once."""
    signals = Signals()
    with handled(signals.note):
        yield signals


class TimeLimit:
    """Sends SIGTERM to this process after ``seconds``; 0 means never."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.passed = False
        """True once the time limit has sent the signal."""

    def _end(self) -> None:
        self.passed = True
        os.kill(os.getpid(), signal.SIGTERM)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Start the clock; the block must handle SIGTERM, which would otherwise kill the process."""
        timer = threading.Timer(self.seconds, self._end)
        timer.daemon = True
        try:
            if self.seconds:
                timer.start()
            yield
        finally:
            timer.cancel()
            if timer.ident is not None:  # If the timer is just firing, let the signal arrive while it is handled.
                timer.join()


class Stop(Signals):
    """The engine's side: its first signal creates the file ``path``, at which workers save their cells and stop."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / f".stop-{os.getpid()}-{secrets.token_hex(4)}"

    def note(self, signum: int, frame: FrameType | None) -> None:
        """Tell the workers to stop; on the second signal, do not wait for them."""
        super().note(signum, frame)
        self.path.touch()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Listen for signals while the block runs."""
        try:
            with handled(self.note):
                yield
        finally:
            self.path.unlink(missing_ok=True)


def orphaned() -> bool:
    """Whether the parent process is gone."""
    return os.getppid() != _PARENT


@contextmanager
def watched(path: Path) -> Iterator[None]:
    """The worker's side: send SIGTERM to this process when ``path`` appears or the engine dies.

    The worker gets its own process group, so that Ctrl-C reaches the engine only and no worker receives two signals.
    """
    # A worker computes one cell after another, and leads its own group since the first.
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
        # Its signal must not arrive after the caller's handlers are gone: it would kill the worker.
        watcher.join()
