"""Compute the rows of an item: find what is finished, estimate the cost of the rest, and compute it."""

import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from nmrgcl.errors import SettingError
from nmrgcl.reproduce.item import Item, MeasuredItem
from nmrgcl.reproduce.plan import Placed, Plan
from nmrgcl.reproduce.scores import Row
from nmrgcl.reproduce.tables.table import TableItem
from nmrgcl.run.backends import worker_count
from nmrgcl.run.cell import Cell
from nmrgcl.run.engine import run_cells
from nmrgcl.run.execute import CellOutcome
from nmrgcl.run.interrupt import Interrupted, TimeLimit, end_at_once, handled
from nmrgcl.run.machine import choose_device
from nmrgcl.run.pilot import can_estimate, estimate_cell
from nmrgcl.run.results import Result, Results

CellProgress = Callable[[int], AbstractContextManager[Callable[[Cell, CellOutcome], None]]]
"""From the number of missing cells to a context manager that provides a callback for each cell that ends."""

PATIENCE = 40.0
"""Approximate time limit of an estimate in seconds."""


@dataclass(frozen=True)
class Computing:
    """How cells are computed.

    Attributes:
        folder: the results folder.
        device: auto, cpu or cuda.
        jobs: how many cells to compute at a time; 0: a number that suits the machine.
        render_only: compute nothing.
        limit: stop after so many seconds with what is finished; 0: no limit.
        keep_trained: keep the weights of trainings in the folder.
        known: rows of another run, whose cells count as finished.
    """

    folder: Path
    device: str = "auto"
    jobs: int = 0
    render_only: bool = False
    limit: float = 0
    keep_trained: bool = False
    known: tuple[Row, ...] = ()


@dataclass(frozen=True)
class Outlook:
    """How much of a plan is finished, and what the rest would cost.

    Attributes:
        cells: the number of cells of the plan.
        finished: the number of those in the results folder or known from elsewhere.
        seconds: the estimated time for the others with all workers; None if not estimated.
        unjudged: datasets with cells whose cost cannot be estimated and is not included in ``seconds``.
        pretraining: True if missing cells need a pre-training, which is not included either.
    """

    cells: int
    finished: int
    seconds: float | None
    unjudged: tuple[str, ...] = ()
    pretraining: bool = False

    @property
    def sentence(self) -> str:
        """The outlook in words."""
        text = f"{self.cells} cells, {self.finished} finished, {self.cells - self.finished} missing"
        if self.cells == self.finished or self.seconds is None:
            return text
        wait = f"{self.seconds / 60:.0f} min" if self.seconds >= 90 else f"{self.seconds:.0f} s"
        apart = "pre-training and judging" if self.pretraining else "judging"
        besides = f", besides {apart} on {', '.join(self.unjudged)}" if self.unjudged else ""
        return f"{text}; about {wait}{besides}"


def compute_rows(
    item: Item, plan: Plan, how: Computing, *, say: Callable[[str], None], progress: CellProgress
) -> list[Row]:
    """The rows of all finished cells; raises Interrupted if a signal, rather than the time limit, stopped it."""
    device = choose_device(how.device)
    if isinstance(item, MeasuredItem):
        if how.render_only:
            raise SettingError(f"--render-only: {item.name} is measured and has no cells; name its file with --from")
        say(f"{plan.label}: {item.cost}")
        return list(_measured(item, plan, how, say))
    if how.render_only:
        return _finished_rows(item, plan, how)
    outlook = look_ahead(item, plan, how, estimate=not how.limit)  # An estimate would use up part of the limit.
    say(f"{plan.label}: {outlook.sentence}, in {how.folder}")
    if outlook.finished < outlook.cells:
        elsewhere = {row["key"] for row in how.known}
        missing = [placed.cell for placed in item.cells(plan) if placed.cell.key not in elsewhere]
        options: dict[str, Any] = {"jobs": how.jobs, "device": device.type, "keep_trained": how.keep_trained}
        limit = TimeLimit(how.limit)
        try:
            # The engine handles signals only while its cells are running.
            with handled(end_at_once), limit.running(), progress(outlook.cells - outlook.finished) as on_done:
                run_cells(missing, how.folder, on_done=on_done, **options)
        except Interrupted as ended:
            say(f"nmrgcl: {ended}; run the same command to continue")
            if not limit.passed:
                raise
    return _finished_rows(item, plan, how)


def look_ahead(item: Item, plan: Plan, how: Computing, *, estimate: bool = True) -> Outlook:
    """Estimate costs from finished cells of the same kind or, if there are none, from a small part of such a cell."""
    elsewhere, results = {row["key"] for row in how.known}, Results(how.folder)
    everything = item.cells(plan)
    cells = [placed for placed in everything if placed.cell.key not in elsewhere]
    found = {placed.cell.key: results.finished(placed.cell.key) for placed in cells}
    done = len(everything) - len(cells) + sum(result is not None for result in found.values())
    if not estimate:
        return Outlook(len(everything), done, None)
    device, seconds, unjudged = choose_device(how.device), 0.0, []
    imported = time.process_time()  # Workers spend about as long on imports as this process has.
    missing = [placed for placed in cells if found[placed.cell.key] is None]
    datasets = list(dict.fromkeys(placed.cell.dataset for placed in missing))
    for dataset in datasets:
        own = [placed for placed in cells if placed.cell.dataset == dataset]
        times: dict[Any, list[float]] = {}
        for placed in own:
            if (result := found[placed.cell.key]) is not None:
                times.setdefault(_kind(item, placed), []).append(float(result.times["total"]))
        lacking = [placed for placed in own if found[placed.cell.key] is None]
        seconds += sum(statistics.fmean(times[kind]) for placed in lacking if (kind := _kind(item, placed)) in times)
        unknown = [placed for placed in lacking if _kind(item, placed) not in times]
        unjudged += [dataset] if any(not can_estimate(placed.cell) for placed in unknown) else []
        known = [placed for placed in unknown if can_estimate(placed.cell)]
        seconds += _estimated(item, known, device, PATIENCE / len(datasets))
    if missing:
        seconds = seconds / worker_count(how.jobs, device.type) + imported
    pretraining = any(placed.cell.start for placed in missing)
    return Outlook(len(everything), done, seconds, tuple(unjudged), pretraining)


def _estimated(item: Item, cells: Sequence[Placed], device: torch.device, patience: float) -> float:
    """Seconds for all cells, measured on one of each kind as long as ``patience`` lasts; cells may share trainings."""
    kinds: dict[Any, list[Cell]] = {}
    for placed in cells:
        kinds.setdefault(_kind(item, placed), []).append(placed.cell)
    order = list(kinds.values())
    random.Random(0).shuffle(order)
    if order:
        estimate_cell(order[0][0], device)  # Not counted: the first call also imports and compiles.
    total, counted, trained, ends = 0.0, 0, set[str](), time.perf_counter() + patience
    for alike in order:
        if counted and time.perf_counter() > ends:
            break
        cost = estimate_cell(alike[len(alike) // 2], device)
        new = {cell.training for cell in alike} - trained
        total += cost.train * len(new) + cost.judge * len(alike)
        trained |= new
        counted += len(alike)
    return total * len(cells) / counted if counted else 0.0


def _measured(item: MeasuredItem, plan: Plan, how: Computing, say: Callable[[str], None]) -> Iterator[Row]:
    """Yield rows as they are measured, and report those that take long one by one."""
    rows = item.measure(plan, choose_device(how.device))
    for row in rows:
        if isinstance(rows, Iterator) and "seed" in row:
            say(f"{row['name']} on {row['dataset']}, seed {row['seed']}")
        yield row


def _finished_rows(item: Item, plan: Plan, how: Computing) -> list[Row]:
    """One row per finished cell, followed by known rows that are not cells."""
    known: Sequence[Row] = () if how.render_only else how.known
    results, elsewhere = Results(how.folder), {row["key"]: row for row in known if row["key"]}
    rows = []
    for placed in item.cells(plan):
        if row := elsewhere.get(placed.cell.key):
            rows.append(row)
        elif result := results.finished(placed.cell.key):
            rows.append(_row(item, placed, result))
    return rows + [row for row in known if not row["key"] and row["dataset"] in plan.datasets]


def _row(item: Item, placed: Placed, result: Result) -> Row:
    cell, at = placed.cell, dict(zip(item.axes, placed.at, strict=True))
    values = {
        "dataset": cell.dataset,
        **at,
        "seed": cell.seed,
        "score": round(result.mean, 4),
        "protocol": cell.protocol,
        "selection": cell.selection,
        "device": str(result.hardware.get("device", "unknown")),
        "key": cell.key,
        **(_details(result) if isinstance(item, TableItem) else {}),
    }
    return values | at  # The table's line overrides the cell's selection, since it is more specific.


def _details(result: Result) -> Row:
    """Values for paired tests and run times; the time of a training that another cell did is not counted again."""
    return {
        "folds": [round(score, 4) for score in result.scores["folds"]],
        "train_seconds": None if "trained_by" in result.times else round(float(result.times.get("train", 0.0)), 3),
        "judge_seconds": round(float(result.times.get("judge", 0.0)), 3),
        "epochs": result.training.get("epochs"),
    }


def _kind(item: Item, placed: Placed) -> tuple[Any, ...]:
    """Identifies cells of a dataset with the same cost: those of one row and line of a table, or all of a figure."""
    return placed.at if isinstance(item, TableItem) else ()
