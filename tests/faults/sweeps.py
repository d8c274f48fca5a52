"""A sweep over cells, killed with all its processes at random instants: no cell lost, none computed twice."""

import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path

from joblib.externals.loky import get_reusable_executor

from nmrgcl.run.cell import Cell
from nmrgcl.run.engine import run_cells
from nmrgcl.run.results import Results
from tests.faults import child
from tests.faults.small import scratch, small_cells, uninterrupted
from tests.faults.tally import Tally

CELLS = 6
IN_PROCESSES = 5
"""Every so many sweeps one has worker processes, which take seconds to start; the others work in one process."""
ENOUGH = 8
PATIENCE = 120.0

State = dict[str, tuple[int, int, bytes]]


def sweeps(amount: int, seed: int = 0) -> Tally:
    """At least ``amount`` kills."""
    tally = Tally("killed sweeps: 0 cells lost, 0 finished cells computed twice")
    chance = random.Random(f"sweeps {seed}")
    tally.facts = {"sweeps": 0, "cells": 0, "in worker processes": 0}
    with tally.timed(), scratch() as folder:
        uninterrupted()
        cells = small_cells(folder / "data", CELLS)
        usual = {jobs: _usual_seconds(cells, folder / f"usual-{jobs}", jobs) for jobs in (1, 2)}
        scores = _scores(folder / "usual-1")
        while tally.tried < amount:
            number = tally.facts["sweeps"]
            jobs = 2 if number % IN_PROCESSES == 1 else 1
            with tally.life(f"sweep {number}, {jobs} at a time") as killed:
                _one_sweep(killed, cells, folder / f"sweep-{number}", jobs, usual[jobs], chance)
                assert _scores(folder / f"sweep-{number}") == scores, "other scores than undisturbed"
            tally.facts["sweeps"] += 1
            tally.facts["cells"] += CELLS
            tally.facts["in worker processes"] += jobs > 1
    return tally


def _one_sweep(
    killed: list[float], cells: list[Cell], out: Path, jobs: int, usual: float, chance: random.Random
) -> None:
    """Kill until it is through; after each kill, what was finished before must not have been touched."""
    finished: State = {}
    while True:
        running = child.start(lambda: _sweep(cells, out, jobs), new_group=True)
        instant = chance.uniform(0, usual)
        if len(killed) < ENOUGH and not running.ends_within(instant):
            _kill_family(running)
        ended = running.end(PATIENCE).expect(child.DONE, -9)
        finished = _unchanged(finished, out)
        if not ended.killed:
            break
        killed.append(instant)
    assert ended.value, "not complete"
    assert len(finished) == CELLS, f"{CELLS - len(finished)} cells lost"


def _kill_family(running: child.Child) -> None:
    os.kill(running.pid, signal.SIGSTOP)  # so that nobody is born while its family is counted
    for pid in [running.pid, *_descendants(running.pid)]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _sweep(cells: list[Cell], out: Path, jobs: int) -> bool:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # joblib's tracker of resources complains about killed workers
    complete = run_cells(cells, out, jobs=jobs, device="cpu").complete
    if jobs > 1:
        get_reusable_executor().shutdown(kill_workers=True)  # they would wait for more work, and this process is short
    return complete


def _unchanged(before: State, out: Path) -> State:
    """The finished cells' files, each whole; those that were there are the very same."""
    now, (results, problems) = {}, Results(out).all()
    assert not problems, problems
    for key in (result.key for result in results):
        path = Results(out).path(key)
        now[key] = (path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes())
    for key, state in before.items():
        assert key in now, f"{key} was finished and is lost"
        assert now[key] == state, f"{key} was finished and was computed again"
    return now


def _scores(out: Path) -> dict[str, object]:
    results, problems = Results(out).all()
    assert not problems, problems
    return {result.key: result.scores for result in results}


def _usual_seconds(cells: list[Cell], out: Path, jobs: int) -> float:
    began = time.perf_counter()
    running = child.start(lambda: _sweep(cells, out, jobs), new_group=True)
    assert running.end(PATIENCE).expect(child.DONE).value, "an undisturbed sweep does not complete"
    return time.perf_counter() - began


def _descendants(pid: int) -> list[int]:
    """Children and theirs, who may have left the process group."""
    found, parents = [], _parents()
    layer = [pid]
    while layer:
        layer = [one for one, parent in parents.items() if parent in layer]
        found += layer
    return found


def _parents() -> dict[int, int]:
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError, ValueError, IndexError):
            stat = Path("/proc", name, "stat").read_text()
            parents[int(name)] = int(stat.rpartition(")")[2].split()[1])
    return parents
