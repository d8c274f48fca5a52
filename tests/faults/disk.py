"""Room that runs out: files that may not grow, and a disk of a few pages."""

import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults import child
from tests.faults.small import assert_same, assert_whole, scratch, train, uninterrupted
from tests.faults.tally import Tally

LARGEST = 20_000
"""No file of the small run has as many bytes."""
PAGES = 40
PAGE = 4096


def disk(amount: int) -> Tally:
    """``amount`` limits to the size of a file, spread evenly, and as many sizes of a disk, up to ``PAGES``."""
    tally = Tally("no room: one line, nothing torn, completed once there is room")
    tally.facts = {"refused": 0, "had room": 0}
    with tally.timed(), scratch() as folder:
        uninterrupted()
        for number in range(amount):
            limit = number * LARGEST // amount
            with tally.trial(f"files of {limit} bytes at most"):
                _limited(tally, folder / f"run-{limit}", limit)
        for pages in range(1, PAGES + 1, max(1, PAGES // amount)):
            if (why := _may_not_mount(folder)) is not None:
                tally.skipped.append(f"a disk of {PAGES} pages and fewer: {why}")
                break
            with tally.trial(f"a disk of {pages} pages"):
                _cramped(tally, folder / "disk", pages)
    return tally


def _limited(tally: Tally, out: Path, limit: int) -> None:
    ended = child.run(lambda: _train_limited(out, limit)).expect(child.DONE, child.REFUSED)
    _finish(tally, out, ended)


def _train_limited(out: Path, limit: int) -> None:
    # Python ignores SIGXFSZ, so that a file that may not grow is an error of the write.
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    train(out)


def _cramped(tally: Tally, place: Path, pages: int) -> None:
    with _mounted(place, pages):
        ended = child.run(lambda: train(place / "run")).expect(child.DONE, child.REFUSED)
        assert_whole(place / "run")
        subprocess.run(["mount", "-o", f"remount,size={PAGE << 12}", str(place)], check=True)
        _finish(tally, place / "run", ended)


def _finish(tally: Tally, out: Path, ended: child.Ended) -> None:
    tally.facts["refused" if ended.told else "had room"] += 1
    assert_whole(out)
    child.run(lambda: train(out)).expect(child.DONE)
    assert_same(out, uninterrupted())


@contextmanager
def _mounted(place: Path, pages: int) -> Iterator[None]:
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={pages * PAGE}", "tmpfs", str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(place)], check=True)


def _may_not_mount(folder: Path) -> str | None:
    if os.geteuid() or not shutil.which("mount"):
        return "mounting needs root"
    place = folder / "try"
    place.mkdir(exist_ok=True)
    tried = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(place)], capture_output=True, text=True)
    if tried.returncode:
        return " ".join(tried.stderr.split())
    subprocess.run(["umount", str(place)], check=True)
    return None
