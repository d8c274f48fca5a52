"""Estimate what a cell would cost from a small part of it, which is computed and discarded."""

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
import torch

from nmrgcl.methods import Method, Pretraining, build_method, find_method
from nmrgcl.run.cell import FINGERPRINTS, OF_MOLECULES, Cell
from nmrgcl.run.cell_data import CellData, load_cell_data
from nmrgcl.run.execute import score_cell
from nmrgcl.run.finetuning import candidates
from nmrgcl.run.machine import torch_threads
from nmrgcl.run.protocols import is_judged
from nmrgcl.train import pretrain
from nmrgcl.train.feed import open_feed

STEPS, ROWS, EPOCHS = 4, (60, 600), 2
"""How many training steps, evaluated graphs and fine-tuning epochs an estimate computes; 600 graphs if 60 are fast."""
LONG = 1.0
"""An evaluation of this many seconds is long enough to be scaled up."""


@dataclass(frozen=True)
class CellSeconds:
    """Seconds on one thread, or on the GPU, to train and to evaluate a cell."""

    train: float
    judge: float


def can_estimate(cell: Cell) -> bool:
    """False for molecules with a pre-trained encoder or with fingerprints."""
    return cell.start is None and cell.split not in OF_MOLECULES and cell.protocol not in FINGERPRINTS


def estimate_cell(cell: Cell, device: torch.device) -> CellSeconds:
    """Time a few training steps and the evaluation of some graphs, and scale both up to the whole cell.

    On a CPU, processor time is measured, which other programs do not affect.
    """
    data = load_cell_data(cell, device)
    with torch_threads(1), torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        method = build_method(cell.settings, data.graphs.num_features, data.features.edge_shape).to(device)
        return CellSeconds(_train(cell, method, data, device), _judge(cell, method, data, device))


def _train(cell: Cell, method: Method, data: CellData, device: torch.device) -> float:
    settings, graphs = cell.settings, data.graphs
    if not isinstance(method, Pretraining):
        index = _some(np.zeros(graphs.num_graphs, dtype=int), ROWS[-1])
        part = replace(data, graphs=graphs.take(torch.from_numpy(index)))
        seconds = _timed(lambda: _exhaust(method, part, cell), device)
        return seconds * graphs.num_graphs / len(index)
    if not settings.train.epochs:
        return 0.0
    with closing(open_feed(data.source(settings), device, settings.train, settings.level)) as feed:
        feed.begin(feed.cut(), 0)
        per_epoch = len(feed.parts)
    steps = settings.train.steps or per_epoch * settings.train.epochs
    few = min(STEPS, steps, max(per_epoch, 2))
    short = replace(cell, settings=replace(settings, train=replace(settings.train, steps=few)))
    return _timed(lambda: _exhaust(method, data, short), device) * steps / few


def _exhaust(method: Method, data: CellData, cell: Cell) -> None:
    settings = cell.settings
    for _ in pretrain(method, data.source(settings), settings.train, device=data.graphs.device, seed=settings.seed):  # type: ignore[arg-type]
        pass


def _judge(cell: Cell, method: Method, data: CellData, device: torch.device) -> float:
    """Evaluate a few graphs, then more of them unless that took long; all nodes at node level."""
    if cell.settings.level == "node":
        return _judge_part(cell, method, data, device) * _times(cell, 1.0)
    y = data.truth.y
    for rows in ROWS:
        index = _some(y, rows)
        if rows < ROWS[-1] and np.unique(y[index], return_counts=True)[1].min() < cell.settings.svm.folds:
            continue  # These are too few graphs of some class for the folds.
        part = replace(data, graphs=data.graphs.take(torch.from_numpy(index)), truth=replace(data.truth, y=y[index]))
        seconds = _judge_part(cell, method, part, device)
        if seconds > LONG:
            break
    # Few graphs take long to embed, which is done graph by graph; a kernel matrix has a row and a column per graph.
    return seconds * _times(cell, len(y) / len(index), squared=rows == ROWS[-1])


def _judge_part(cell: Cell, method: Method, part: CellData, device: torch.device) -> float:
    """Seconds to evaluate all graphs or nodes of ``part`` once; if fine-tuned, for a few epochs."""
    settings, options = cell.settings, cell.settings.finetune
    if cell.protocol == "finetune":
        short = replace(options, epochs=min(EPOCHS, options.epochs), runs=1, grid="none")
        cell = replace(cell, settings=replace(settings, finetune=short))
    last = [{"epoch": settings.train.epochs, "loss": None}]
    return _timed(lambda: score_cell(cell, method, part.graphs, part.truth, last), device)


def _times(cell: Cell, larger: float, *, squared: bool = False) -> float:
    """How many times as long as ``_judge_part`` the evaluation takes, if the data is ``larger`` by this factor."""
    settings, options = cell.settings, cell.settings.finetune
    if cell.protocol == "finetune":
        trainings = len(candidates(settings, fresh=settings.train.epochs == 0)) + options.runs - 1
        return trainings * options.epochs / min(EPOCHS, options.epochs) * larger
    return _looks(cell) * (larger**2 if squared else larger)


def _looks(cell: Cell) -> int:
    """How often the cell is evaluated: selection "paper" looks at many epochs."""
    epochs = cell.settings.train.epochs
    if cell.selection == "honest" or not issubclass(find_method(cell.settings.method), Pretraining):
        return 1
    return len({epochs, *(epoch for epoch in range(1, epochs + 1) if is_judged(epoch, epochs))})


def _some(y: np.ndarray, rows: int) -> np.ndarray:
    """At most ``rows`` indices with the same class proportions as ``y``."""
    order = np.argsort(y, kind="stable")
    return np.sort(order[np.linspace(0, len(order) - 1, min(len(order), rows)).astype(int)])


def _timed(work: Callable[[], object], device: torch.device) -> float:
    clock = time.process_time if device.type == "cpu" else time.perf_counter
    began = clock()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return clock() - began
