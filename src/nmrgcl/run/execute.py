"""Compute one cell: finished results are read, and interrupted ones continue from their checkpoint.

Workers call ``compute_cell``, which returns an outcome even if the cell fails, so that the next cell can follow.
"""

import json
import os
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import torch

from nmrgcl.graphs import Graphs
from nmrgcl.lock import BusyError, locked
from nmrgcl.methods import Embedder, Method, Pretraining, build_method, build_pretraining
from nmrgcl.run.cell import FINGERPRINTS, Cell
from nmrgcl.run.cell_data import CellData, load_cell_data
from nmrgcl.run.checkpoints import Cadence, RunMemory, keep_training, take_training
from nmrgcl.run.embeddings import embed_all, kernels_of
from nmrgcl.run.finetuning import score_by_finetuning
from nmrgcl.run.interrupt import Interrupted, end_at_once, handled, noted_signals, orphaned, watched
from nmrgcl.run.machine import (
    OutOfMemoryError,
    choose_device,
    cuda_is_unusable,
    explained,
    give_back_memory,
    hardware,
    torch_threads,
    versions,
)
from nmrgcl.run.measures import measure_training
from nmrgcl.run.protocols import (
    SCORE_BY,
    Case,
    PenaltyScores,
    Truth,
    choose_best,
    is_judged,
    score_by_fingerprints,
    score_every_penalty,
)
from nmrgcl.run.recipe import require_meaning
from nmrgcl.run.results import Result, Results, token_of
from nmrgcl.train import pretrain


@dataclass(frozen=True)
class CellOutcome:
    """How the computation of a cell ended.

    Attributes:
        key: the key of the cell.
        status: "lost" if the worker died or was stopped; the cell's checkpoint remains.
        mean: the score, if the cell is done.
        message: one line that says why it is not done.
        signum: the signal that stopped it, or 0.
        crowded: True if memory ran out while other cells were running too.
    """

    key: str
    status: Literal["done", "failed", "busy", "lost"]
    mean: float | None = None
    message: str = ""
    signum: int = 0
    crowded: bool = False


def compute_cell(cell: Cell, folder: Path, device: str, stop: Path | None = None) -> CellOutcome:
    """Execute ``cell`` with results in ``folder``; a failure is recorded there.

    Args:
        cell: the cell.
        folder: the results folder.
        device: "auto", "cpu" or "cuda", resolved in this process.
        stop: in a worker process, the file whose appearance asks it to stop.
    """
    if stop is not None and stop.exists():
        return CellOutcome(cell.key, "lost", message="not started: the sweep is stopping")
    if stop is not None and cuda_is_unusable():
        os._exit(1)  # The engine starts a new worker, which can compute the cell.
    results = Results(folder)
    try:
        # Loading and scoring have nothing to save; training installs handlers that wait for its next checkpoint.
        with handled(end_at_once), watched(stop) if stop else nullcontext():
            return CellOutcome(cell.key, "done", execute(cell, results, device=choose_device(device)).mean)
    except BusyError as error:
        return CellOutcome(cell.key, "busy", message=str(error))
    except Interrupted as error:
        return CellOutcome(cell.key, "lost", message=str(error), signum=error.signum)
    except Exception as error:
        crowded = stop is not None and isinstance(error, OutOfMemoryError)
        return replace(_record(cell, results, error), crowded=crowded)
    finally:
        give_back_memory()
        if stop is not None and orphaned():
            os._exit(1)  # The engine is gone; without this, the pool would keep waiting for minutes.


def _record(cell: Cell, results: Results, error: Exception) -> CellOutcome:
    words = "".join(c if c.isprintable() else " " for c in str(error))
    message = " ".join(words.split())[:500] or "no message"
    failure = Result(
        key=cell.key,
        named=cell.named(),
        settings=cell.settings.to_dict(),
        status="failed",
        scores={},
        chosen=None,
        training={},
        data={},
        versions=versions(),
        hardware={},
        times={"ended": datetime.now(UTC).isoformat(timespec="seconds")},
        error={"type": type(error).__name__, "message": message},
    )
    try:
        results.put(failure)
    except OSError as full:
        message += f"; the failure could not be recorded ({full.strerror})"
    return CellOutcome(cell.key, "failed", message=message)


def execute(cell: Cell, results: Results, *, device: torch.device, cadence: Cadence | None = None) -> Result:
    """The result of ``cell``: read if it is finished, otherwise computed, from its last checkpoint if there is one.

    A cell is always computed on one thread, so that its scores do not depend on the machine; running many cells at a
    time fills the cores. Raises BusyError if another process is computing the cell.
    """
    result = results.finished(cell.key)
    if result is None:
        with locked(results.locks, f"{cell.key}.lock"):
            results.remove_strays(cell.key)
            result = results.finished(cell.key)  # The previous owner of the lock may have finished it.
            if result is None:
                result = _compute(cell, results, device, cadence or Cadence())
                results.put(result)
            results.remove_work(cell.key)
    return result


def _compute(cell: Cell, results: Results, device: torch.device, cadence: Cadence) -> Result:
    began, started = time.perf_counter(), datetime.now(UTC).isoformat(timespec="seconds")
    for settings in (cell.settings, *([cell.start.settings] if cell.start else [])):
        require_meaning(settings)
    cell_data = load_cell_data(cell, device)
    graphs, truth, data = cell_data.graphs, cell_data.truth, cell_data.record
    loaded = time.perf_counter()
    # Folders are also named by the digest of the data, since a user's file may have changed since the checkpoint.
    folder, weights = (top / cell_data.sha256[:16] for top in (results.work(cell.key), results.trained(cell.training)))
    trained = cell.start.settings if cell.start else cell.settings
    shape = graphs.num_features, cell_data.features.edge_shape
    with explained(trained, "or compute fewer cells at a time (--jobs)"), torch_threads(1):
        method = build_method(trained, *shape).to(device)
        with noted_signals() as signals:
            memory = _CellMemory(folder, cadence, signals, token_of(cell.key))
            taken = take_training(weights, cell, method)
            if taken is None:
                _train(cell, method, cell_data, memory)
                keep_training(weights, cell, method, memory.metrics)
            # A signal that came after the last checkpoint, which holds the complete training.
            signals.obey()
        with handled(end_at_once):
            if cell.start is not None:
                pretrained, method = method, build_pretraining(cell.settings, *shape).to(device)
                assert isinstance(pretrained, Pretraining)
                # Only the weights are taken over, because the cell's encoder may have another dropout rate.
                method.encoder.load_state_dict(pretrained.encoder.state_dict())
            judging = time.perf_counter()
            lines = taken.metrics if taken else memory.metrics
            # Untrained encoders and methods without epochs have no lines.
            epochs = [json.loads(line) for line in lines] or [{"epoch": 0, "loss": None}]
            measures = measure_training(method, graphs, cell.settings)
            scores, chosen = score_cell(cell, method, graphs, truth, epochs)
    spent = [json.loads(line) for line in memory.timings]
    times: dict[str, Any] = {
        "load": loaded - began,
        "train": sum((part["seconds"] for part in spent), 0.0),
        "judge": time.perf_counter() - judging + sum(part["judging"] for part in spent),
    }
    return Result(
        key=cell.key,
        named=cell.named(),
        settings=cell.settings.to_dict(),
        status="done",
        scores=scores,
        chosen=chosen,
        training={"epochs": epochs[-1]["epoch"], "loss": epochs[-1]["loss"], **measures},
        data=data,
        versions=versions(),
        hardware=hardware(device),
        times=times | {"total": sum(times.values()), "started": started} | ({"trained_by": taken.by} if taken else {}),
    )


def score_cell(
    cell: Cell, method: Method, graphs: Graphs, truth: Truth, epochs: Sequence[dict[str, Any]]
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The scores of a trained method by the cell's protocol, and what selection "paper" chose.

    ``epochs`` holds the metrics of each epoch; some of them include the ``scores`` for every C.
    """
    if cell.protocol == "finetune" and isinstance(method, Pretraining):  # Cell guarantees the latter; mypy needs it.
        fresh = cell.start is None and cell.settings.train.epochs == 0
        return score_by_finetuning(method, graphs, truth, cell.split, cell.settings, fresh=fresh).to_dict(), None
    if cell.protocol in FINGERPRINTS:
        model = FINGERPRINTS[cell.protocol]
        return score_by_fingerprints(truth, cell.split, seed=cell.seed, model=model).to_dict(), None
    if cell.selection == "honest":
        case = _case(cell, method, graphs, truth)
        return SCORE_BY[cell.protocol]([case], cell.settings, graphs.device, 1)[0].to_dict(), None
    tables = {epoch["epoch"]: epoch["scores"] for epoch in epochs if "scores" in epoch}
    if epochs[-1]["epoch"] not in tables:
        tables[epochs[-1]["epoch"]] = _score_every_penalty(cell, method, graphs, truth)
    scores, chosen = choose_best(tables)
    return scores.to_dict(), chosen


def _score_every_penalty(cell: Cell, method: Method, graphs: Graphs, truth: Truth) -> PenaltyScores:
    return score_every_penalty(cell.protocol, _case(cell, method, graphs, truth), cell.settings, graphs.device)


def _case(cell: Cell, method: Method, graphs: Graphs, truth: Truth) -> Case:
    return Case(embed_all(method, graphs).cpu().numpy(), truth, cell.seed, cell.split, kernels_of(method, graphs))


class _CellMemory(RunMemory):
    """Also writes a checkpoint at the end of training, because evaluation may take longer than training."""

    complete = False

    def due(self, *, epoch_ended: bool) -> bool:
        return super().due(epoch_ended=epoch_ended) or (epoch_ended and self.complete)


def _train(cell: Cell, method: Pretraining | Embedder, cell_data: CellData, memory: _CellMemory) -> None:
    """Train to the end; checkpoints include the losses and the scores that selection "paper" chooses from."""
    settings, graphs, truth = (cell.start or cell).settings, cell_data.graphs, cell_data.truth
    source = cell_data.source(settings)
    for epoch in pretrain(method, source, settings.train, device=graphs.device, seed=settings.seed, memory=memory):
        memory.complete = epoch.last
        judging = time.perf_counter()
        line: dict[str, Any] = {"epoch": epoch.number, "loss": epoch.loss}
        if cell.selection == "paper" and is_judged(epoch.number, settings.train.epochs):
            with handled(end_at_once):
                line["scores"] = _score_every_penalty(cell, method, graphs, truth)
        spent = {"seconds": epoch.seconds, "judging": time.perf_counter() - judging}
        # The loop asks for a checkpoint when it resumes, and these lines are part of it.
        memory.metrics.append(json.dumps(line))
        memory.timings.append(json.dumps(spent))
