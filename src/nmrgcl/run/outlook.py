"""How many of the planned cells are finished, and how long the others would take."""

import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from nmrgcl.duration import duration
from nmrgcl.run.backends import HERE, worker_count
from nmrgcl.run.cell import Cell
from nmrgcl.run.pilot import can_estimate, estimate_cell
from nmrgcl.run.results import Results

PATIENCE = 40.0
"""Approximate time limit of an estimate in seconds."""

Planned = tuple[Any, Cell]
"""A cell and its kind: cells of the same kind and dataset cost the same."""


@dataclass(frozen=True)
class Outlook:
    """How much of a plan is finished, and what the rest would cost.

    Attributes:
        cells: the number of cells of the plan.
        finished: the number of those in the results folder or known from elsewhere.
        seconds: the estimated time for the others with all workers; None if not estimated.
        unjudged: datasets with cells whose cost cannot be estimated and is not included in ``seconds``.
        pretraining: True if missing cells need a pre-training, which is not included either.
        workers: what the time was estimated for, if cells are not computed on this machine.
    """

    cells: int
    finished: int
    seconds: float | None
    unjudged: tuple[str, ...] = ()
    pretraining: bool = False
    workers: str = ""

    @property
    def sentence(self) -> str:
        """The outlook in words."""
        planned = f"{self.cells} cell{'' if self.cells == 1 else 's'}"
        text = f"{planned}, {self.finished} finished, {self.cells - self.finished} missing"
        if self.cells == self.finished or self.seconds is None:
            return text
        wait = duration(self.seconds)
        apart = "pre-training and judging" if self.pretraining else "judging"
        besides = f", besides {apart} on {', '.join(self.unjudged)}" if self.unjudged else ""
        return f"{text}; about {wait}{self.workers}{besides}"


def seedless(cell: Cell) -> str:
    """The kind of a cell: cells that differ only in their seed cost the same."""
    return replace(cell, settings=replace(cell.settings, seed=0)).key


def look_ahead(
    plan: Sequence[Planned],
    folder: Path,
    device: torch.device,
    *,
    jobs: int = 0,
    backend: str = HERE[0],
    known: frozenset[str] = frozenset(),
    estimate: bool = True,
) -> Outlook:
    """Estimate costs from finished cells of the same kind or, if there are none, from a small part of such a cell.

    Args:
        plan: all cells and their kinds.
        folder: the results folder.
        device: the device of this process, on which parts of cells are timed.
        jobs: how many cells are computed at a time; 0: a number that suits this machine, or one elsewhere.
        backend: where cells will be computed.
        known: keys of cells that are finished, although the folder lacks them.
        estimate: False only counts the cells.
    """
    results = Results(folder)
    cells = [(kind, cell) for kind, cell in plan if cell.key not in known]
    found = {cell.key: results.finished(cell.key) for _, cell in cells}
    done = len(plan) - len(cells) + sum(result is not None for result in found.values())
    if not estimate:
        return Outlook(len(plan), done, None)
    seconds, unjudged, warm = 0.0, list[str](), False
    imported = time.process_time()  # Workers spend about as long on imports as this process has.
    missing = [cell for _, cell in cells if found[cell.key] is None]
    datasets = list(dict.fromkeys(cell.dataset for cell in missing))
    for dataset in datasets:
        own = [(kind, cell) for kind, cell in cells if cell.dataset == dataset]
        times: dict[Any, list[float]] = {}
        for kind, cell in own:
            if (result := found[cell.key]) is not None:
                times.setdefault(kind, []).append(float(result.times["total"]))
        lacking = [(kind, cell) for kind, cell in own if found[cell.key] is None]
        seconds += sum(statistics.fmean(times[kind]) for kind, _ in lacking if kind in times)
        unknown = [(kind, cell) for kind, cell in lacking if kind not in times]
        unjudged += [dataset] if any(not can_estimate(cell) for _, cell in unknown) else []
        measurable = [one for one in unknown if can_estimate(one[1])]
        if measurable and not warm:
            estimate_cell(measurable[0][1], device)  # Not counted: the first call also imports and compiles.
            warm = True
        seconds += _estimated(measurable, device, PATIENCE / len(datasets))
    count, words = _workers(backend, jobs, device.type)
    if missing:
        seconds = seconds / count + imported
    pretraining = any(cell.start for cell in missing)
    return Outlook(len(plan), done, seconds, tuple(unjudged), pretraining, words)


def _workers(backend: str, jobs: int, device: str) -> tuple[int, str]:
    """The number of cells computed at a time and, if they are computed elsewhere, words about it."""
    if backend in HERE:
        return (1 if backend == "inline" else worker_count(jobs, device)), ""
    if jobs == 1 or not jobs:
        return 1, " on one worker as fast as this machine"
    return jobs, f" on {jobs} workers as fast as this machine"


def _estimated(plan: Sequence[Planned], device: torch.device, patience: float) -> float:
    """Seconds for all cells, measured on one of each kind as long as ``patience`` lasts; cells may share trainings."""
    kinds: dict[Any, list[Cell]] = {}
    for kind, cell in plan:
        kinds.setdefault(kind, []).append(cell)
    order = list(kinds.values())
    # If time runs out, the measured kinds stand for the others; unshuffled, they would be of few methods.
    random.Random(0).shuffle(order)
    total, counted, trained, ends = 0.0, 0, set[str](), time.perf_counter() + patience
    for alike in order:
        if counted and time.perf_counter() > ends:
            break
        cost = estimate_cell(alike[len(alike) // 2], device)
        new = {cell.training for cell in alike} - trained
        total += cost.train * len(new) + cost.judge * len(alike)
        trained |= new
        counted += len(alike)
    return total * len(plan) / counted if counted else 0.0
