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

STEPS, ROWS, EPOCHS = 4, 600, 2
"""How many training steps, evaluated graphs and fine-tuning epochs an estimate computes."""


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
        index = _some(np.zeros(graphs.num_graphs, dtype=int))
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
    settings, graphs, truth = cell.settings, data.graphs, data.truth
    share = 1.0
    if settings.level == "graph" and graphs.num_graphs > ROWS:
        index = _some(truth.y)
        graphs, truth = graphs.take(torch.from_numpy(index)), replace(truth, y=truth.y[index])
        share = graphs.num_graphs / data.graphs.num_graphs
    if cell.protocol == "finetune":
        options = settings.finetune
        trainings = len(candidates(settings, fresh=settings.train.epochs == 0)) + options.runs - 1
        few = min(EPOCHS, options.epochs)
        cell = replace(cell, settings=replace(settings, finetune=replace(options, epochs=few, runs=1, grid="none")))
        scale = trainings * options.epochs / few / share
    else:
        scale = _looks(cell) / share**2  # A kernel matrix has a row and a column per graph.
    last = [{"epoch": settings.train.epochs, "loss": None}]
    return _timed(lambda: score_cell(cell, method, graphs, truth, last), device) * scale


def _looks(cell: Cell) -> int:
    """How often the cell is evaluated: selection "paper" looks at many epochs."""
    epochs = cell.settings.train.epochs
    if cell.selection == "honest" or not issubclass(find_method(cell.settings.method), Pretraining):
        return 1
    return len({epochs, *(epoch for epoch in range(1, epochs + 1) if is_judged(epoch, epochs))})


def _some(y: np.ndarray) -> np.ndarray:
    """At most ``ROWS`` indices with the same class proportions as ``y``."""
    order = np.argsort(y, kind="stable")
    return np.sort(order[np.linspace(0, len(order) - 1, min(len(order), ROWS)).astype(int)])


def _timed(work: Callable[[], object], device: torch.device) -> float:
    clock = time.process_time if device.type == "cpu" else time.perf_counter
    began = clock()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return clock() - began
