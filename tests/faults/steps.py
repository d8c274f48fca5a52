"""The I/O steps of a process, counted; the process can be killed just before any of them, or in the middle of a write.

Python reports most of them to audit hooks. Writing and flushing it does not, so those are wrapped: every file that is
opened for writing gets a raw layer that counts. To be used in a forked child only, for nothing here can be taken back.
"""

import builtins
import fcntl
import io
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

_EVENTS = frozenset(
    f"os.{name}" for name in ("rename", "remove", "mkdir", "rmdir", "truncate", "chmod", "link", "symlink", "utime")
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Steps:
    """What has been done so far; before number ``stop_at`` (from 1) the process dies."""

    def __init__(self, stop_at: int = 0) -> None:
        self.done: list[str] = []
        self.stop_at = stop_at

    def step(self, what: str) -> None:
        """Another step is about to be taken."""
        self.done.append(what)
        if len(self.done) == self.stop_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(self) -> None:
        """Count from now on, in this process, for good."""
        sys.addaudithook(self._hear)
        for module, name in ((os, "fsync"), (os, "fdatasync"), (os, "pwrite"), (os, "write"), (fcntl, "flock")):
            setattr(module, name, self._before(name, getattr(module, name)))
        io.open = builtins.open = self._open

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in _EVENTS:
            self.step(event)
        elif event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING:
            self.step("open")

    def _before(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            self.step(name)
            return function(*arguments, **options)

        return counted

    def _open(
        self,
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        if not set(mode) & set("wax+"):
            return _REAL_OPEN(file, mode, buffering, encoding, errors, newline, closefd, opener)
        raw = _CountedFile(self, file, mode.replace("b", "").replace("t", ""), closefd, opener)
        buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline)


_REAL_OPEN = io.open


class _CountedFile(io.FileIO):
    def __init__(self, steps: Steps, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.steps = steps

    def write(self, data: Any, /) -> int:
        content = bytes(data)
        self.steps.step("write")
        written = super().write(content[: len(content) // 2])
        self.steps.step("second half of a write")
        return written + super().write(content[len(content) // 2 :])
