"""What was tried against one promise, and what survived."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

SHOWN = 5
"""Failures that are told in full; more of the same kind say nothing new."""


@dataclass
class Tally:
    """Trials of one promise.

    Attributes:
        promise: in a few words.
        broken: one line for each trial that did not survive.
        skipped: one line for each kind of trial that could not be made here.
        facts: what else was measured.
    """

    promise: str
    tried: int = 0
    survived: int = 0
    seconds: float = 0.0
    broken: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    @contextmanager
    def trial(self, what: str) -> Iterator[None]:
        """One trial: it survives if the block ends without an exception."""
        self.tried += 1
        try:
            yield
        except Exception as error:
            self.broken.append(f"{what}: {_in_a_line(error)}")
        else:
            self.survived += 1

    @contextmanager
    def life(self, what: str) -> Iterator[list[float]]:
        """Trials that survive or fail together; the block appends one entry for each."""
        trials: list[float] = []
        try:
            yield trials
        except Exception as error:
            self.tried += max(len(trials), 1)
            self.broken.append(f"{what}, after {len(trials)} kills: {_in_a_line(error)}")
        else:
            self.tried += len(trials)
            self.survived += len(trials)

    @contextmanager
    def timed(self) -> Iterator["Tally"]:
        """Add the block's seconds."""
        began = time.perf_counter()
        try:
            yield self
        finally:
            self.seconds += time.perf_counter() - began

    def row(self) -> str:
        """A line of the table, and one for each thing that needs a word."""
        lines = [f"{self.promise:<58} {self.tried:>7} {self.survived:>9} {self.seconds:>8.1f}"]
        lines += [f"    broken: {line}" for line in self.broken[:SHOWN]]
        lines += [f"    skipped: {line}" for line in self.skipped]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "promise": self.promise,
            "tried": self.tried,
            "survived": self.survived,
            "seconds": round(self.seconds, 1),
            "broken": self.broken,
            "skipped": self.skipped,
            **({"facts": self.facts} if self.facts else {}),
        }


def _in_a_line(error: Exception) -> str:
    """Its end says most, if it is a traceback."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text if len(text) < 400 else '… ' + text[-400:]}"


HEAD = f"{'promise':<58} {'tried':>7} {'survived':>9} {'seconds':>8}"
