"""What is there of a plan, what the rest would cost, and computing it."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmrgcl.data.loading import load
from nmrgcl.reproduce.item import Item
from nmrgcl.reproduce.plan import Placed, Plan
from nmrgcl.reproduce.scores import Row
from nmrgcl.run.backends import worker_count
from nmrgcl.run.cell import Cell
from nmrgcl.run.engine import Summary, run_cells
from nmrgcl.run.execute import CellOutcome
from nmrgcl.run.machine import choose_device
from nmrgcl.run.pretrain import estimate_cost
from nmrgcl.run.results import Result, Results


@dataclass(frozen=True)
class Outlook:
    """What a plan asks for.

    Attributes:
        cells: all of them.
        finished: that are in the folder of results or known from elsewhere.
        seconds: estimated for the others, as many at a time as there are workers; None where nothing was measured.
        unjudged: datasets without a finished cell, of which the training alone is estimated.
        pretraining: whether cells are missing whose encoders are pre-trained elsewhere, which is not estimated.
    """

    cells: int
    finished: int
    seconds: float | None
    unjudged: tuple[str, ...] = ()
    pretraining: bool = False

    @property
    def sentence(self) -> str:
        """In words."""
        text = f"{self.cells} cells, {self.finished} finished, {self.cells - self.finished} missing"
        if self.cells == self.finished or self.seconds is None:
            return text
        wait = f"{self.seconds / 60:.0f} min" if self.seconds >= 90 else f"{self.seconds:.0f} s"
        apart = "pre-training and judging" if self.pretraining else "judging"
        besides = f", besides {apart} on {', '.join(self.unjudged)}" if self.unjudged else ""
        return f"{text}; about {wait}{besides}"


def count(item: Item, plan: Plan, folder: Path, known: Sequence[Row] = ()) -> Outlook:
    """How many cells there are and are finished, at once."""
    elsewhere, results = {row["key"] for row in known}, Results(folder)
    keys = [placed.cell.key for placed in item.cells(plan)]
    return Outlook(len(keys), sum(key in elsewhere or results.finished(key) is not None for key in keys), None)


def look_ahead(item: Item, plan: Plan, folder: Path, *, device: str, jobs: int, known: Sequence[Row] = ()) -> Outlook:
    """Costs are those of finished cells of the same kind, else of a few steps of training measured now."""
    elsewhere, results = {row["key"] for row in known}, Results(folder)
    everything = item.cells(plan)
    cells = [placed for placed in everything if placed.cell.key not in elsewhere]
    found = {placed.cell.key: results.finished(placed.cell.key) for placed in cells}
    seconds, unjudged, pretraining = 0.0, [], False
    for dataset in plan.datasets:
        own = [(placed, found[placed.cell.key]) for placed in cells if placed.cell.dataset == dataset]
        times: dict[Any, list[float]] = {}
        for placed, result in own:
            if result is not None:
                times.setdefault(_kind(item, placed), []).append(float(result.times["total"]))
        missing = [placed for placed, result in own if result is None]
        seconds += sum(statistics.fmean(times[kind]) for placed in missing if (kind := _kind(item, placed)) in times)
        unknown = [placed for placed in missing if _kind(item, placed) not in times]
        unjudged += [dataset] if unknown else []
        pretraining |= any(placed.cell.start for placed in unknown)
        seconds += _training(unknown, device)
    done = len(everything) - len(cells) + sum(result is not None for result in found.values())
    wait = seconds / worker_count(jobs, choose_device(device).type)
    return Outlook(len(everything), done, wait, tuple(unjudged), pretraining)


def fill(
    item: Item,
    plan: Plan,
    folder: Path,
    *,
    device: str,
    jobs: int,
    on_done: Callable[[Cell, CellOutcome], None] | None,
    known: Sequence[Row] = (),
    keep_trained: bool = False,
) -> Summary:
    """Compute the cells of ``plan`` that are neither in ``folder`` nor ``known``."""
    elsewhere = {row["key"] for row in known}
    missing = [placed.cell for placed in item.cells(plan) if placed.cell.key not in elsewhere]
    return run_cells(missing, folder, jobs=jobs, device=device, on_done=on_done, keep_trained=keep_trained)


def gather(item: Item, plan: Plan, folder: Path, known: Sequence[Row] = ()) -> list[Row]:
    """A row for each finished cell of ``plan``, in its order; ``known`` ones are taken as they are.

    So are known rows that are no cells.
    """
    results, elsewhere = Results(folder), {row["key"]: row for row in known if row["key"]}
    rows = []
    for placed in item.cells(plan):
        if row := elsewhere.get(placed.cell.key):
            rows.append(row)
        elif result := results.finished(placed.cell.key):
            rows.append(_row(item, placed, result))
    return rows + [row for row in known if not row["key"] and row["dataset"] in plan.datasets]


def _row(item: Item, placed: Placed, result: Result) -> Row:
    cell, details = placed.cell, {} if item.table is None else _details(result)
    at = dict(zip(item.axes, placed.at, strict=True))
    values = {
        "dataset": cell.dataset,
        **at,
        "seed": cell.seed,
        "score": round(result.mean, 4),
        "protocol": cell.protocol,
        "selection": cell.selection,
        "device": str(result.hardware.get("device", "unknown")),
        "key": cell.key,
        **details,
    }
    return values | at  # a table's own line says more than the cell's selection


def _details(result: Result) -> Row:
    """What tests of pairs and run times need; the seconds of a training that another cell did are not its own."""
    return {
        "folds": [round(score, 4) for score in result.scores["folds"]],
        "train_seconds": None if "trained_by" in result.times else round(float(result.times.get("train", 0.0)), 3),
        "judge_seconds": round(float(result.times.get("judge", 0.0)), 3),
        "epochs": result.training.get("epochs"),
    }


def _kind(item: Item, placed: Placed) -> tuple[Any, ...]:
    """Cells of a dataset that cost the same: of a table those of a row that are judged alike, of a figure all."""
    return placed.at if item.table else ()


def _training(cells: list[Placed], device: str) -> float:
    """Seconds of all, as many as the typical one takes; those of one training count once."""
    trained = {placed.cell.training: placed.cell for placed in cells if placed.cell.settings.train.epochs}
    if not trained:
        return 0.0
    typical = list(trained.values())[len(trained) // 2]
    cost = estimate_cost(load(typical.dataset), typical.settings, seeds=1, device=choose_device(device))
    return len(trained) * cost.seconds
