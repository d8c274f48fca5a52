"""Many mutated inputs through one parser."""

import random
import signal
from types import FrameType

from nmrgcl.errors import DataError
from tests.fuzz.mutate import mutated
from tests.fuzz.target import Files, Target, check_sound

PATIENCE = 5.0
"""Seconds after which one small input counts as a hang."""


def drive(target: Target, inputs: int, seed: int = 0) -> int:
    """How many inputs are accepted; fails at the first that crashes, hangs, is misread or refused in several lines."""
    random_ = random.Random(f"{target.name} {seed}")
    accepted = 0
    previous = signal.signal(signal.SIGALRM, _hang)
    try:
        for number in range(inputs):
            files = mutated(target, random_)
            signal.setitimer(signal.ITIMER_REAL, PATIENCE)
            try:
                accepted += _is_accepted(target, files)
            except Exception as error:
                what = f"{target.name}, input {number}: {type(error).__name__}: {error}\n{dict(files)!r}"
                raise AssertionError(what[:4000]) from error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    return accepted


def _is_accepted(target: Target, files: Files) -> bool:
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


def _hang(signum: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"no answer after {PATIENCE} s")
