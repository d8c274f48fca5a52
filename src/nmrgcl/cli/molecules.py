"""What commands on molecules share: options, progress, and what is said about rows that are not molecules.

Progress is a bar on a terminal, now and then a line otherwise.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmrgcl.cli.terminal import bar_console

if TYPE_CHECKING:
    from nmrgcl.data.dataset import Dataset
    from nmrgcl.data.molecule_rows import MoleculeRows

EVERY = 10.0
"""Seconds between lines; what takes less is done in silence."""
LISTED = 5
"""Rows that are not molecules which are listed; of more, only the number is told."""

Smiles = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Column of SMILES in a file of molecules. (default: smiles)")
]
OnInvalid = Annotated[
    str | None,
    typer.Option(
        "--invalid", metavar="skip|error", help="Rows of a file of molecules that are not molecules. (default: skip)"
    ),
]


def load_with(data: str, smiles: str | None, invalid: str | None) -> "Dataset":
    """The dataset, and progress while molecules are made graphs; only files of molecules have these options."""
    from nmrgcl.data import load
    from nmrgcl.data.read import read_path

    with molecules_made() as watch:
        if smiles is None and invalid is None:
            return load(data, watch=watch)
        return read_path(Path(data).expanduser(), watch=watch, smiles=smiles, invalid=invalid)


def tell_skipped(rows: "MoleculeRows", source: str) -> None:
    """How many rows of a file were skipped, and the first of them, on standard error."""
    if rows.skipped:
        print(f"{source}: skipped {rows.skipped} of {rows.rows} rows, which are not molecules:", file=sys.stderr)
        for line, text, reason in rows.invalid[:LISTED]:
            print(f"  line {line}, {text!r}: {reason}", file=sys.stderr)


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
