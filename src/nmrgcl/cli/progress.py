"""Training progress on standard error: a bar on a terminal, plain lines otherwise."""

import sys
from collections.abc import Iterator

from nmrgcl.cli.terminal import bar_console
from nmrgcl.run import SeedEpoch


def show_epochs(steps: Iterator[SeedEpoch], *, total: int, title: str, quiet: bool = False) -> dict[int, SeedEpoch]:
    """Follow ``steps`` to their end; returns each seed's last epoch."""
    follow = _silently if quiet else _bar if sys.stderr.isatty() else _lines
    last: dict[int, SeedEpoch] = {}
    for step in follow(steps, total, title):
        last[step.seed] = step
        if step.warning and not quiet:
            print(f"{title}, seed {step.seed}, epoch {step.epoch.number}: {step.warning}", file=sys.stderr, flush=True)
    return last


def _silently(steps: Iterator[SeedEpoch], total: int, title: str) -> Iterator[SeedEpoch]:
    return steps


def _lines(steps: Iterator[SeedEpoch], total: int, title: str) -> Iterator[SeedEpoch]:
    previous: SeedEpoch | None = None
    for step in steps:
        if previous is not None and previous.seed != step.seed:
            _print(title, previous)
        if step.effective_rank is not None and step.epoch.number == 1:
            _print(title, step)
        previous = step
        yield step
    if previous is not None:
        _print(title, previous)


def _print(title: str, step: SeedEpoch) -> None:
    rank = "" if step.effective_rank is None else f", effective rank {step.effective_rank:.1f}"
    print(f"{title}, seed {step.seed}, {_describe(step)}{rank}", file=sys.stderr, flush=True)


def _describe(step: SeedEpoch) -> str:
    return f"epoch {step.epoch.number}: loss {step.epoch.loss:.4f}, {step.epoch.graphs_per_second:,.0f} {step.level}s/s"


def _bar(steps: Iterator[SeedEpoch], total: int, title: str) -> Iterator[SeedEpoch]:
    from rich.markup import escape
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(), TextColumn("{task.fields[state]}"))
    with Bar(*columns, console=bar_console()) as bar:
        task = bar.add_task(escape(title), total=total or None, state="")
        for step in steps:
            bar.update(task, advance=1, state=f"seed {step.seed}, {_describe(step)}")
            yield step
