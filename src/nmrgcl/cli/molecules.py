"""What commands on files of molecules share: options, progress, and what is said about skipped rows."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from nmrgcl.cli.terminal import bar_console

if TYPE_CHECKING:
    from nmrgcl.data.molecules import Invalid

EVERY = 10.0
"""Seconds between two lines about progress."""
LISTED = 5
"""Invalid rows that are listed; of more, only the number is told."""
Watch = Callable[[int, int], None]
"""Called with the number of rows that are done, and of all."""

Smiles = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Column of SMILES in a file of molecules. (default: smiles)")
]
OnInvalid = Annotated[
    str, typer.Option("--invalid", metavar="skip|error", help="Rows of a file of molecules that are not molecules.")
]


@contextmanager
def progress(title: str) -> Iterator[Watch]:
    """What to call as rows are done: a bar on a terminal, otherwise a line every few seconds."""
    if not sys.stderr.isatty():
        yield _lines(title)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    speed = TextColumn("{task.fields[speed]}")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), speed, TimeRemainingColumn())
    with Progress(*columns, console=bar_console()) as bar:
        task, begun = bar.add_task(title, total=None, speed=""), time.monotonic()

        def watch(done: int, total: int) -> None:
            speed = done / max(time.monotonic() - begun, 1e-9)
            bar.update(task, completed=done, total=total, speed=f"{speed:,.0f} molecules/s")

        yield watch


def _lines(title: str) -> Watch:
    begun = told = time.monotonic()

    def watch(done: int, total: int) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told >= EVERY:
            told, speed = now, done / (now - begun)
            rest = f"{speed:,.0f} molecules/s, {(total - done) / speed:,.0f} s left"
            print(f"{title}: {done:,} of {total:,}, {rest}", file=sys.stderr, flush=True)

    return watch


def tell_skipped(skipped: "Sequence[Invalid]", source: str) -> None:
    """How many rows of a file were skipped, and the first of them, on standard error."""
    if not skipped:
        return
    from nmrgcl.run.molecule_files import told

    print(f"{source}: skipped {len(skipped)} rows that are not molecules:", file=sys.stderr)
    for one in skipped[:LISTED]:
        print(f"  {told(one)}", file=sys.stderr)
    if len(skipped) > LISTED:
        print(f"  and {len(skipped) - LISTED} more", file=sys.stderr)
