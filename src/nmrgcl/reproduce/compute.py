"""Compute the rows of an item: find what is finished, estimate the cost of the rest, and compute it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from nmrgcl.errors import SettingError
from nmrgcl.reproduce.item import Item, MeasuredItem
from nmrgcl.reproduce.plan import Placed, Plan
from nmrgcl.reproduce.scores import Row
from nmrgcl.reproduce.tables.table import TableItem
from nmrgcl.run.backends import HERE
from nmrgcl.run.cell import Cell
from nmrgcl.run.engine import run_cells
from nmrgcl.run.execute import CellOutcome
from nmrgcl.run.interrupt import Interrupted, TimeLimit, end_at_once, handled
from nmrgcl.run.machine import choose_device
from nmrgcl.run.outlook import Outlook, look_ahead
from nmrgcl.run.results import Result, Results

CellProgress = Callable[[int], AbstractContextManager[Callable[[Cell, CellOutcome], None]]]
"""From the number of missing cells to a context manager that provides a callback for each cell that ends."""


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
        where: options of ``run_cells`` that name a backend other than processes on this machine.
    """

    folder: Path
    device: str = "auto"
    jobs: int = 0
    render_only: bool = False
    limit: float = 0
    keep_trained: bool = False
    known: tuple[Row, ...] = ()
    where: Mapping[str, Any] = field(default_factory=dict)

    @property
    def here(self) -> bool:
        """Whether cells are computed on this machine."""
        return self.where.get("backend", HERE[0]) in HERE

    @property
    def device_here(self) -> torch.device:
        """The device of this process, for measuring and estimating; workers elsewhere choose their own."""
        return choose_device(self.device if self.here else "auto")


def compute_rows(
    item: Item, plan: Plan, how: Computing, *, say: Callable[[str], None], progress: CellProgress
) -> list[Row]:
    """The rows of all finished cells; raises Interrupted if a signal, rather than the time limit, stopped it."""
    if isinstance(item, MeasuredItem):
        if how.render_only:
            raise SettingError(f"--render-only: {item.name} is measured and has no cells; name its file with --from")
        say(f"{plan.label}: {item.cost}")
        return list(_measured(item, plan, how, say))
    if how.render_only:
        return finished_rows(item, plan, how)
    # An estimate would use up part of the limit, and says little about the speed of machines elsewhere.
    outlook = outlook_of(item, plan, how, estimate=how.here and not how.limit)
    say(f"{plan.label}: {outlook.sentence}, in {how.folder}")
    if outlook.finished < outlook.cells:
        elsewhere = {row["key"] for row in how.known}
        missing = [placed.cell for placed in item.cells(plan) if placed.cell.key not in elsewhere]
        options: dict[str, Any] = {"jobs": how.jobs, "keep_trained": how.keep_trained, **how.where}
        options["device"] = how.device_here.type if how.here else how.device
        limit = TimeLimit(how.limit)
        try:
            # The engine handles signals only while its cells are running.
            with handled(end_at_once), limit.running(), progress(outlook.cells - outlook.finished) as on_done:
                run_cells(missing, how.folder, on_done=on_done, **options)
        except Interrupted as ended:
            say(f"nmrgcl: {ended}; run the same command to continue")
            if not limit.passed:
                raise
    return finished_rows(item, plan, how)


def outlook_of(item: Item, plan: Plan, how: Computing, *, estimate: bool = True) -> Outlook:
    """How many cells of ``plan`` are finished, and what the others would cost."""
    backend = how.where.get("backend", HERE[0])
    known = frozenset(row["key"] for row in how.known)
    planned = [(item.kind(placed), placed.cell) for placed in item.cells(plan)]
    device = how.device_here if estimate else torch.device("cpu")
    return look_ahead(planned, how.folder, device, jobs=how.jobs, backend=backend, known=known, estimate=estimate)


def _measured(item: MeasuredItem, plan: Plan, how: Computing, say: Callable[[str], None]) -> Iterator[Row]:
    """Yield rows as they are measured, and report those that take long one by one."""
    rows = item.measure(plan, how.device_here)
    for row in rows:
        if isinstance(rows, Iterator) and "seed" in row:
            say(f"{row['name']} on {row['dataset']}, seed {row['seed']}")
        yield row


def finished_rows(item: Item, plan: Plan, how: Computing) -> list[Row]:
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
        **{name: [round(score, 4) for score in result.scores[name]] for name in item.by_fold},
        **{name: _rounded(result.training.get(name)) for name in item.measures},
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


def _rounded(value: float | None) -> float | None:
    """Six digits are enough to order embeddings by; results of earlier versions lack most measures."""
    return None if value is None else float(f"{value:.6g}")
