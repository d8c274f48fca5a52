"""Compute cells with progress on standard error: a bar on a terminal, otherwise one line per cell."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from nmrgcl.cli.terminal import bar_console
from nmrgcl.duration import duration
from nmrgcl.errors import SettingError
from nmrgcl.run.backends import BACKENDS, HERE
from nmrgcl.run.cell import Cell
from nmrgcl.run.engine import Summary, run_cells
from nmrgcl.run.execute import CellOutcome
from nmrgcl.run.interrupt import Interrupted
from nmrgcl.run.machine import choose_device
from nmrgcl.run.outlook import Outlook, look_ahead, seedless
from nmrgcl.run.results import Results

Follow = Callable[[Cell, CellOutcome], None]


def engine_options(backend: str, *, address: str | None, slurm: Sequence[str], device: str) -> dict[str, Any]:
    """Return the options of ``run_cells`` that say where cells are computed; a worker elsewhere chooses its device."""
    if backend not in BACKENDS:
        raise SettingError(f"--backend {backend}: known: {', '.join(BACKENDS)}")
    for option, given, wanted in (("--address", address, "ray"), ("--slurm", slurm, "slurm")):
        if given and backend != wanted:
            raise SettingError(f"{option}: is for --backend {wanted}, but the backend is {backend}; leave it out")
    where = choose_device(device).type if backend in HERE else device
    return {"backend": backend, "address": address, "slurm": _parameters(slurm), "device": where}


def _parameters(texts: Sequence[str]) -> dict[str, Any]:
    pairs = [text.partition("=") for text in texts]
    for text, (key, equals, _) in zip(texts, pairs, strict=True):
        if not equals or not key:
            raise SettingError(f"--slurm {text}: expected key=value, for example --slurm partition=gpu")
    return {key.strip(): int(value) if value.strip().isdecimal() else value.strip() for key, _, value in pairs}


def costs(cells: Sequence[Cell], folder: Path, *, jobs: int, backend: str, device: str, **_: Any) -> Outlook:
    """Estimate what ``compute_cells`` would cost with the same options; a worker elsewhere is taken to be as fast."""
    here = choose_device(device if backend in HERE else "auto")
    return look_ahead([(seedless(cell), cell) for cell in cells], folder, here, jobs=jobs, backend=backend)


def compute_cells(cells: Sequence[Cell], folder: Path, **options: Any) -> Summary:
    """Call ``run_cells`` with progress; if interrupted, exit with one line."""
    finished = set(Results(folder).keys())
    try:
        with show_cells(sum(cell.key not in finished for cell in cells)) as on_done:
            return run_cells(cells, folder, on_done=on_done, **options)
    except Interrupted as ended:
        print(f"nmrgcl: {ended}; run the same command again to continue", file=sys.stderr)
        raise typer.Exit(128 + ended.signum) from None


@contextmanager
def show_cells(total: int) -> Iterator[Follow]:
    """Yield a function to call with each of at most ``total`` finished cells; at the end, print the time taken."""
    began, count = time.monotonic(), 0
    with _bar(total) if sys.stderr.isatty() else _lines(total) as follow:

        def counted(cell: Cell, outcome: CellOutcome) -> None:
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

    def follow(cell: Cell, outcome: CellOutcome) -> None:
        nonlocal count
        count += 1
        left = (time.monotonic() - began) / count * (total - count)
        print(
            f"{count} of {total}, {_describe(cell, outcome)}, about {duration(left)} left", file=sys.stderr, flush=True
        )

    yield follow


@contextmanager
def _bar(total: int) -> Iterator[Follow]:
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.fields[state]}"))
    with Progress(*columns, console=bar_console()) as bar:
        task = bar.add_task("", total=total, state="")

        def follow(cell: Cell, outcome: CellOutcome) -> None:
            bar.update(task, advance=1, state=escape(_describe(cell, outcome)))
            if outcome.status != "done":
                bar.console.print(escape(_describe(cell, outcome)))

        yield follow


def _describe(cell: Cell, outcome: CellOutcome) -> str:
    score = f"{outcome.mean:.2f}" if outcome.mean is not None else f"{outcome.status}: {outcome.message}"
    trained = f"{cell.method} + finetune" if cell.protocol == "finetune" else cell.method
    return f"{trained} on {cell.dataset}, seed {cell.seed}: {score}"
