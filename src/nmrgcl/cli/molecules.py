"""Progress on standard error while molecules are made graphs: a bar on a terminal, now and then a line otherwise."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nmrgcl.cli.terminal import bar_console

EVERY = 10.0
"""Seconds between lines; what takes less is done in silence."""


@contextmanager
def molecules_made(*, quiet: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """What to call with the molecules that are done, and how many there are."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with _bar() as watch:
            yield watch
    else:
        yield _lines()


def _lines() -> Callable[[int, int], None]:
    began = told = time.monotonic()

    def watch(done: int, total: int) -> None:
        nonlocal told
        if time.monotonic() - told >= EVERY:
            told = time.monotonic()
            print(describe(done, total, told - began), file=sys.stderr, flush=True)

    return watch


def describe(done: int, total: int, seconds: float) -> str:
    """One line: how far, how fast, and how much longer."""
    rate = done / seconds
    left = (total - done) / rate
    return f"{done:,} of {total:,} molecules, {rate:,.0f} per second, {left:.0f} s left"


@contextmanager
def _bar() -> Iterator[Callable[[int, int], None]]:
    from rich.progress import BarColumn, TaskID, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("molecules"), BarColumn(), TextColumn("{task.fields[state]}"), TimeRemainingColumn())
    with Bar(*columns, console=bar_console()) as bar:
        task: TaskID | None = None
        began = time.monotonic()

        def watch(done: int, total: int) -> None:
            nonlocal task
            if task is None:
                task = bar.add_task("", total=total, state="")
            rate = done / max(time.monotonic() - began, 1e-9)
            bar.update(task, completed=done, state=f"{done:,} of {total:,}, {rate:,.0f} per second")

        yield watch
