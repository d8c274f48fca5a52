"""Memory that does not suffice (RLIMIT_AS): one line that names what to lower, and the checkpoint stays."""

import resource
from pathlib import Path

from tests.faults import child
from tests.faults.small import SETTINGS, assert_same, assert_whole, files, scratch, train, uninterrupted
from tests.faults.tally import Tally

WIDE = SETTINGS.updated({"encoder.units": 256, "epochs": 2})
MOST = 40 << 20
"""More than the wide run needs beyond what the process has."""


def shortage(amount: int) -> Tally:
    """``amount`` limits, from nothing to more than enough."""
    tally = Tally("out of memory: one line with train.batch_size, then completed")
    tally.facts = {"refused": 0, "had enough": 0}
    with tally.timed(), scratch() as folder:
        uninterrupted()
        # In a child: memory that this process had used once, its children would find free.
        child.run(lambda: train(folder / "whole", seeds=1, settings=WIDE)).expect(child.DONE)
        expected = files(folder / "whole")
        for number in range(amount):
            more = number * MOST // amount
            with tally.trial(f"{more >> 20} MiB more than now"):
                _one_run(tally, folder / f"run-{number}", more, expected)
    return tally


def _one_run(tally: Tally, out: Path, more: int, expected: dict[str, bytes]) -> None:
    ended = child.run(lambda: _train_limited(out, more)).expect(child.DONE, child.REFUSED)
    tally.facts["refused" if ended.told else "had enough"] += 1
    assert not ended.told or "lower train.batch_size" in ended.told, ended.told
    assert_whole(out)
    child.run(lambda: train(out, seeds=1, settings=WIDE)).expect(child.DONE)
    assert_same(out, expected)


def _train_limited(out: Path, more: int) -> None:
    with open("/proc/self/statm", encoding="ascii") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + more, resource.RLIM_INFINITY))
    try:
        train(out, seeds=1, settings=WIDE)
    finally:  # telling the parent takes memory, too
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
