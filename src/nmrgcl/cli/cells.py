"""Progress over cells on standard error: a bar on a terminal, a line a cell otherwise."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nmrgcl.cli.terminal import bar_console
from nmrgcl.run.cell import Cell
from nmrgcl.run.execute import Outcome

Follow = Callable[[Cell, Outcome], None]


@contextmanager
def show_cells(total: int) -> Iterator[Follow]:
    """What to call with each of up to ``total`` cells as it ends; says at the end how many took how long."""
    began, count = time.monotonic(), 0
    with _bar(total) if sys.stderr.isatty() else _lines(total) as follow:

        def counted(cell: Cell, outcome: Outcome) -> None:
            nonlocal count
            count += outcome.status == "done"
            follow(cell, outcome)

        try:
            yield counted
        finally:
            if count:
                took = time.monotonic() - began
                print(f"{count} {'cell' if count == 1 else 'cells'} in {took:.0f} s", file=sys.stderr, flush=True)


@contextmanager
def _lines(total: int) -> Iterator[Follow]:
    began, count = time.monotonic(), 0

    def follow(cell: Cell, outcome: Outcome) -> None:
        nonlocal count
        count += 1
        left = (time.monotonic() - began) / count * (total - count)
        print(f"{count} of {total}, {_describe(cell, outcome)}, {_minutes(left)} left", file=sys.stderr, flush=True)

    yield follow


@contextmanager
def _bar(total: int) -> Iterator[Follow]:
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.fields[state]}"))
    with Progress(*columns, console=bar_console()) as bar:
        task = bar.add_task("", total=total, state="")

        def follow(cell: Cell, outcome: Outcome) -> None:
            bar.update(task, advance=1, state=escape(_describe(cell, outcome)))
            if outcome.status != "done":
                bar.console.print(escape(_describe(cell, outcome)))

        yield follow


def _describe(cell: Cell, outcome: Outcome) -> str:
    score = f"{outcome.mean:.2f}" if outcome.mean is not None else f"{outcome.status}: {outcome.message}"
    trained = f"{cell.method} + finetune" if cell.protocol == "finetune" else cell.method
    return f"{trained} on {cell.dataset}, seed {cell.seed}: {score}"


def _minutes(seconds: float) -> str:
    return f"about {seconds / 60:.0f} min" if seconds >= 90 else f"about {seconds:.0f} s"
