"""What a cell would cost, estimated from a small part of it that is computed and thrown away."""

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
import torch

from nmrgcl.methods import Method, Pretraining, build_method, find_method
from nmrgcl.run.cell import FINGERPRINTS, OF_MOLECULES, Cell
from nmrgcl.run.cell_data import CellData, load_cell_data
from nmrgcl.run.execute import one_thread, score_cell
from nmrgcl.run.finetuning import candidates
from nmrgcl.run.protocols import is_judged
from nmrgcl.train import pretrain
from nmrgcl.train.feed import open_feed

STEPS, ROWS, EPOCHS = 4, 600, 2
"""Training steps, judged graphs and epochs of fine-tuning that an estimate computes."""


@dataclass(frozen=True)
class CellSeconds:
    """Seconds of one thread, or of the GPU, for the training and the judging of a cell."""

    train: float
    judge: float


def can_estimate(cell: Cell) -> bool:
    """Not for molecules with an encoder from another dataset or with fingerprints."""
    return cell.start is None and cell.split not in OF_MOLECULES and cell.protocol not in FINGERPRINTS


def estimate_cell(cell: Cell, device: torch.device) -> CellSeconds:
    """A few steps of the training and a judgement of some graphs, scaled up to all of them.

    On a CPU the time of the processor counts, which other programs do not lengthen.
    """
    data = load_cell_data(cell, device)
    with one_thread(), torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
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
        scale = _looks(cell) / share**2  # a kernel has a row and a column per graph
    last = [{"epoch": settings.train.epochs, "loss": None}]
    return _timed(lambda: score_cell(cell, method, graphs, truth, last), device) * scale


def _looks(cell: Cell) -> int:
    """How often the cell is judged: selection "paper" looks at many epochs."""
    epochs = cell.settings.train.epochs
    if cell.selection == "honest" or not issubclass(find_method(cell.settings.method), Pretraining):
        return 1
    return len({epochs, *(epoch for epoch in range(1, epochs + 1) if is_judged(epoch, epochs))})


def _some(y: np.ndarray) -> np.ndarray:
    """At most ``ROWS`` indices with the classes in proportion."""
    order = np.argsort(y, kind="stable")
    return np.sort(order[np.linspace(0, len(order) - 1, min(len(order), ROWS)).astype(int)])


def _timed(work: Callable[[], object], device: torch.device) -> float:
    clock = time.process_time if device.type == "cpu" else time.perf_counter
    began = clock()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return clock() - began
