"""What a worker does with a cell: whatever happens, an outcome comes back and the next cell can follow."""

import os
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from nmrgcl.run.cell import Run
from nmrgcl.run.device import choose_device, give_back_memory, spoilt
from nmrgcl.run.execute import execute
from nmrgcl.run.interrupt import Interrupted
from nmrgcl.run.lock import BusyError
from nmrgcl.run.machine import versions
from nmrgcl.run.out_of_memory import OutOfMemoryError
from nmrgcl.run.result import Result
from nmrgcl.run.results import Results
from nmrgcl.run.stop import end_at_once, handled, orphaned, watched


@dataclass(frozen=True)
class Outcome:
    """How an attempt at a cell ended.

    Attributes:
        key: of the cell.
        status: "lost" where the worker died or was ended; the cell's checkpoint remains.
        mean: score of a cell that is done.
        message: one line about one that is not.
        signum: the signal that ended it.
        crowded: memory did not suffice beside other cells.
    """

    key: str
    status: Literal["done", "failed", "busy", "lost"]
    mean: float | None = None
    message: str = ""
    signum: int = 0
    crowded: bool = False


def attempt(run: Run, folder: Path, device: str, stop: Path | None = None) -> Outcome:
    """Execute ``run`` with results in ``folder``; a failure is recorded there.

    Args:
        run: the cell.
        folder: of the results.
        device: "auto", "cpu" or "cuda", as this process sees them.
        stop: in a worker process, the file that asks it to end.
    """
    if stop is not None and stop.exists():
        return Outcome(run.key, "lost", message="not begun: the sweep is ending")
    if stop is not None and spoilt():
        os._exit(1)  # a new worker can compute what this one would only fail at
    results = Results(folder)
    try:
        with handled(end_at_once), watched(stop) if stop else nullcontext():
            return Outcome(run.key, "done", execute(run, results, device=choose_device(device)).mean)
    except BusyError as error:
        return Outcome(run.key, "busy", message=str(error))
    except Interrupted as error:
        return Outcome(run.key, "lost", message=str(error), signum=error.signum)
    except Exception as error:
        crowded = stop is not None and isinstance(error, OutOfMemoryError)
        return replace(_record(run, results, error), crowded=crowded)
    finally:
        give_back_memory()
        if stop is not None and orphaned():
            os._exit(1)  # nobody is left to hear of it, and the pool would wait for minutes


def _record(run: Run, results: Results, error: Exception) -> Outcome:
    words = "".join(c if c.isprintable() else " " for c in str(error))
    message = " ".join(words.split())[:500] or "no message"
    failure = Result(
        key=run.key,
        cell=run.named(),
        settings=run.settings.to_dict(),
        status="failed",
        scores={},
        chosen=None,
        training={},
        data={},
        versions=versions(),
        hardware={},
        times={"ended": datetime.now(UTC).isoformat(timespec="seconds")},
        error={"type": type(error).__name__, "message": message},
    )
    try:
        results.put(failure)
    except OSError as full:
        message += f"; and that could not be recorded ({full.strerror})"
    return Outcome(run.key, "failed", message=message)
