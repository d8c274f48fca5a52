"""Show download progress on standard error: a bar on a terminal, otherwise one line per file."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from nmrgcl.cli.terminal import bar_console
from nmrgcl.data.locate import FileProgress


@contextmanager
def downloads(*, quiet: bool) -> Iterator[FileProgress | None]:
    """Yield a function to call with the name of a file, the bytes received, and the total."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with _bars() as progress:
            yield progress
    else:
        yield _lines()


def _lines() -> FileProgress:
    begun: set[str] = set()

    def progress(name: str, done: int, total: int | None) -> None:
        if name not in begun:
            begun.add(name)
            size = f" ({total / 1e6:.1f} MB)" if total else ""
            print(f"downloading {name}{size}", file=sys.stderr, flush=True)

    return progress


@contextmanager
def _bars() -> Iterator[FileProgress]:
    from rich.progress import BarColumn, DownloadColumn, TaskID, TextColumn, TransferSpeedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Bars(*columns, console=bar_console()) as bars:
        tasks: dict[str, TaskID] = {}

        def progress(name: str, done: int, total: int | None) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=total)
            bars.update(tasks[name], completed=done, total=total)

        yield progress
