"""Show progress through many items on standard error: a bar on a terminal, otherwise a line every ten seconds."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nmrgcl.cli.terminal import bar_console
from nmrgcl.duration import duration

EVERY = 10.0
"""Seconds between lines; shorter work prints none."""


@contextmanager
def counted(unit: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a function to call with the number of items done and the total; ``unit`` is their plural name."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with _bar(unit) as watch:
            yield watch
    else:
        yield _lines(unit)


def _lines(unit: str) -> Callable[[int, int], None]:
    began = told = time.monotonic()
    first = 0

    def watch(done: int, total: int) -> None:
        nonlocal began, told, first
        now = time.monotonic()
        if not first and done < total:  # starting and compiling came before it, and say nothing about the speed
            began, first = now, done
        elif now - told >= EVERY:
            told = now
            print(describe(unit, done, total, now - began, first), file=sys.stderr, flush=True)

    return watch


def describe(unit: str, done: int, total: int, seconds: float, first: int = 0) -> str:
    """Describe progress, speed and remaining time in one line; ``seconds`` began after ``first`` items."""
    rate = max(done - first, 1) / seconds
    return f"{done:,} of {total:,} {unit}, {_speed(rate)}, {duration((total - done) / rate)} left"


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
