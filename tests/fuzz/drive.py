"""Many mutated inputs through one parser in one process."""

import random
import signal
import time
from dataclasses import dataclass
from types import FrameType

from nmrgcl.errors import DataError
from tests.fuzz.mutate import mutated
from tests.fuzz.target import Files, Target, check_sound

PATIENCE = 5.0
"""Seconds after which one small input counts as a hang."""


@dataclass(frozen=True)
class Outcome:
    """What became of the inputs."""

    target: str
    inputs: int
    accepted: int
    refused: int
    seconds: float
    slowest: float


class Failure(AssertionError):
    """An input that was neither refused in one line nor read rightly; made of text alone, so that it can travel."""


def drive(target: Target, inputs: int, seed: int = 0) -> Outcome:
    """Raise ``Failure`` at the first input that crashes, hangs, is refused in more than a line, or is misread."""
    random_ = random.Random(f"{target.name} {seed}")
    accepted, slowest, began = 0, 0.0, time.perf_counter()
    previous = signal.signal(signal.SIGALRM, _hang)
    try:
        for number in range(inputs):
            files = mutated(target, random_)
            signal.setitimer(signal.ITIMER_REAL, PATIENCE)
            start = time.perf_counter()
            try:
                accepted += _try(target, files)
            except Exception as error:
                raise Failure(_described(target, number, files, error)) from error
            slowest = max(slowest, time.perf_counter() - start)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    seconds = time.perf_counter() - began
    return Outcome(target.name, inputs, accepted, inputs - accepted, seconds, slowest)


def _try(target: Target, files: Files) -> bool:
    try:
        data = target.read(files)
    except DataError as error:
        told = str(error)
        assert told, "nothing is told"
        assert told.isprintable(), f"what is told is not one clean line: {told!r}"
        return False
    check_sound(data)
    target.agree(files, data)
    return True


def _described(target: Target, number: int, files: Files, why: BaseException) -> str:
    return f"{target.name}, input {number}: {type(why).__name__}: {why}\n{dict(files)!r}"[:4000]


def _hang(signum: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"no answer after {PATIENCE} s")
