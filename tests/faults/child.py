"""Work in a forked child: it starts as warm as its parent, and whatever becomes of it, the parent is as before."""

import json
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

from nmrgcl.errors import UserError

PATIENCE = 60.0
"""Seconds after which a child counts as hanging."""
DONE, REFUSED, CRASHED = 0, 2, 3


@dataclass(frozen=True)
class Ended:
    """How a child ended: exit code (or minus the signal), and what it had to tell."""

    code: int
    told: str = ""
    value: Any = None

    @property
    def killed(self) -> bool:
        """By ``kill -9``."""
        return self.code == -signal.SIGKILL

    def expect(self, *codes: int) -> "Ended":
        """This, if it ended in one of these ways; a refusal must be one line."""
        assert self.code in codes, f"ended with {self.code}: {self.told}"
        if self.code == REFUSED:
            assert self.told, "refused without a word"
            assert self.told.isprintable(), f"not one clean line: {self.told!r}"
        return self


@dataclass
class Child:
    """A child under way."""

    pid: int
    pipe: int
    told: bytearray = field(default_factory=bytearray)

    def kill(self) -> None:
        """``kill -9``; nothing happens to one that has ended but has not been waited for."""
        os.kill(self.pid, signal.SIGKILL)

    def ends_within(self, seconds: float) -> bool:
        """Wait for the end, but not longer."""
        until = time.monotonic() + seconds
        while True:
            ready, _, _ = select.select([self.pipe], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                return False
            part = os.read(self.pipe, 1 << 16)
            if not part:
                return True
            self.told += part

    def end(self, patience: float = PATIENCE) -> Ended:
        """Wait for the end; one that hangs is killed and reported as such."""
        hung = not self.ends_within(patience)
        if hung:
            self.kill()
        os.close(self.pipe)
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        if hung:
            return Ended(CRASHED, f"no end after {patience} s")
        message = json.loads(self.told) if self.told and code >= 0 else {}
        return Ended(code, message.get("told", ""), message.get("value"))


def start(work: Callable[[], Any], *, new_group: bool = False) -> Child:
    """Fork and let the child do ``work``; what it returns (plain values) is told to the parent."""
    sys.stdout.flush()
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reading)
        if new_group:
            os.setpgid(0, 0)
        _work(work, writing)
    os.close(writing)
    return Child(pid, reading)


def run(work: Callable[[], Any]) -> Ended:
    """The same, to its end."""
    return start(work).end()


def _work(work: Callable[[], Any], writing: int) -> NoReturn:
    """Do it and tell; ``os._exit`` because nothing of the parent's may be cleaned up by its child."""
    code, message = CRASHED, {}
    try:
        message["value"] = work()
        code = DONE
    except UserError as error:
        code, message["told"] = REFUSED, str(error)
    except OSError as error:  # as the command line tells it
        code, message["told"] = REFUSED, f"{error.filename or ''}: {error.strerror or error}"
        if error.errno is None:
            code, message["told"] = CRASHED, f"an OSError without a reason: {error!r}"
    except BaseException:
        message["told"] = traceback.format_exc()[-1500:]
    try:
        os.write(writing, json.dumps(message).encode())
    finally:
        os._exit(code)
