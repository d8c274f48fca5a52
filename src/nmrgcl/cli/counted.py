"""How much of many is done, on standard error: a bar on a terminal, now and then a line otherwise."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nmrgcl.cli.terminal import bar_console

EVERY = 10.0
"""Seconds between lines; what takes less is done in silence."""


@contextmanager
def counted(unit: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """What to call with how many are done, and how many there are; ``unit`` is their name, in the plural."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with _bar(unit) as watch:
            yield watch
    else:
        yield _lines(unit)


def _lines(unit: str) -> Callable[[int, int], None]:
    began = told = time.monotonic()

    def watch(done: int, total: int) -> None:
        nonlocal told
        if time.monotonic() - told >= EVERY:
            told = time.monotonic()
            print(describe(unit, done, total, told - began), file=sys.stderr, flush=True)

    return watch


def describe(unit: str, done: int, total: int, seconds: float) -> str:
    """One line: how far, how fast, and how much longer."""
    rate = done / seconds
    left = (total - done) / rate
    longer = f"{left / 60:.0f} min" if left >= 120 else f"{left:.0f} s"
    return f"{done:,} of {total:,} {unit}, {_speed(rate)}, {longer} left"


def _speed(rate: float) -> str:
    return f"{rate:,.0f} per second" if rate >= 10 else f"{rate:.2g} per second"


@contextmanager
def _bar(unit: str) -> Iterator[Callable[[int, int], None]]:
    from rich.progress import BarColumn, TaskID, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn(unit), BarColumn(), TextColumn("{task.fields[state]}"), TimeRemainingColumn())
    with Bar(*columns, console=bar_console()) as bar:
        task: TaskID | None = None
        began = time.monotonic()

        def watch(done: int, total: int) -> None:
            nonlocal task
            if task is None:
                task = bar.add_task("", total=total, state="")
            rate = done / max(time.monotonic() - began, 1e-9)
            bar.update(task, completed=done, total=total, state=f"{done:,} of {total:,}, {_speed(rate)}")

        yield watch
