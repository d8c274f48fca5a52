"""Metrics of a running training: one line per epoch in the run's folder, for ``nmrgcl view``."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

NAME = "live.jsonl"
DIGITS = 5
"""Of a singular value."""


class Live:
    """Epochs of all seeds as they come; a disk that is full silences it, and ends nothing."""

    def __init__(self, descriptor: int | None) -> None:
        self.descriptor = descriptor
        self.told: dict[int, int] = {}

    def tell(self, seed: int, metrics: Sequence[str], spectrum: Sequence[float] | None = None) -> None:
        """Write the lines of ``metrics`` that are new for the seed, and the spectrum after the last of them."""
        # Every line is a JSON object; the seed is put behind its opening brace.
        lines = [f'{{"seed": {seed}, {line[1:]}' for line in metrics[self.told.get(seed, 0) :]]
        self.told[seed] = len(metrics)
        if spectrum is not None:
            values = [float(f"{value:.{DIGITS}g}") for value in spectrum]
            lines.append(json.dumps({"seed": seed, "epoch": len(metrics), "spectrum": values}))
        if self.descriptor is not None:
            try:
                os.write(self.descriptor, "".join(f"{line}\n" for line in lines).encode())
            except OSError:
                self.descriptor = None


@contextmanager
def told_live(folder: Path) -> Iterator[Live]:
    """Lines go to ``folder/live.jsonl``, which is removed at the end; for the owner of the folder's lock."""
    path = folder / NAME
    try:
        # Not through a link, which somebody else may have put there.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    except OSError:
        yield Live(None)
        return
    try:
        yield Live(descriptor)
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(descriptor)
