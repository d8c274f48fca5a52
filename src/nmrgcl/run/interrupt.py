"""Signals that ask a run to end: noted, so that it can end between two batches with everything kept."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


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
def noted_signals() -> Iterator[Signals]:
    """SIGINT and SIGTERM as they come in, while the block runs; in the main thread only, as signals are."""
    signals = Signals()
    if threading.current_thread() is not threading.main_thread():
        yield signals
        return
    before = {number: signal.signal(number, signals.note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
