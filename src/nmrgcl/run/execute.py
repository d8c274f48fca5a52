"""One cell → its result, computed once: what is finished is read, what was begun goes on.

A worker calls ``compute_cell``: it returns an outcome whatever happens, so that the next cell can follow.
"""

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import torch

from nmrgcl.diagnose.collapse import effective_rank
from nmrgcl.graphs import Graphs
from nmrgcl.lock import BusyError, locked
from nmrgcl.methods import Embedder, Method, Pretraining, build_method, build_pretraining
from nmrgcl.run.cell import FINGERPRINTS, Cell
from nmrgcl.run.cell_data import CellData, load_cell_data
from nmrgcl.run.checkpoints import Cadence, RunMemory, keep_training, take_training
from nmrgcl.run.embeddings import embed_all, embed_some, kernels_of
from nmrgcl.run.finetuning import score_by_finetuning
from nmrgcl.run.fingerprints import score_by_fingerprints
from nmrgcl.run.interrupt import Interrupted, Signals, end_at_once, handled, noted_signals, orphaned, watched
from nmrgcl.run.machine import OutOfMemoryError, choose_device, explained, give_back_memory, hardware, spoilt, versions
from nmrgcl.run.protocols import (
    SCORE_BY,
    Case,
    PenaltyScores,
    Truth,
    choose_best,
    is_judged,
    score_every_penalty,
)
from nmrgcl.run.recipe import require_meaning
from nmrgcl.run.results import Result, Results, token_of
from nmrgcl.train import pretrain


@dataclass(frozen=True)
class CellOutcome:
    """How the computation of a cell ended.

    Attributes:
        key: of the cell.
        status: "lost" where the worker died or was ended; the cell's checkpoint remains.
        mean: score of a cell that is done.
        message: one line about one that is not.
        signum: the signal that ended it.
        crowded: memory did not suffice beside other cells.
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
        folder: of the results.
        device: "auto", "cpu" or "cuda", as this process sees them.
        stop: in a worker process, the file that asks it to end.
    """
    if stop is not None and stop.exists():
        return CellOutcome(cell.key, "lost", message="not begun: the sweep is ending")
    if stop is not None and spoilt():
        os._exit(1)  # a new worker can compute what this one would only fail at
    results = Results(folder)
    try:
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
            os._exit(1)  # nobody is left to hear of it, and the pool would wait for minutes


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
        message += f"; and that could not be recorded ({full.strerror})"
    return CellOutcome(cell.key, "failed", message=message)


def execute(cell: Cell, results: Results, *, device: torch.device, cadence: Cadence | None = None) -> Result:
    """The result of ``cell``: read where it is finished, else computed, from its last checkpoint if there is one.

    One thread computes a cell, however many there are, so that its value does not depend on who computes it; cells
    share a machine by being many. BusyError where another process has the cell.
    """
    result = results.finished(cell.key)
    if result is None:
        with _owned(results, cell.key):
            result = results.finished(cell.key)  # the owner before may have finished it
            if result is None:
                result = _compute(cell, results, device, cadence or Cadence())
                results.put(result)
            results.remove_work(cell.key)
    return result


@contextmanager
def _owned(results: Results, key: str) -> Iterator[None]:
    with locked(results.locks, f"{key}.lock"):
        results.remove_strays(key)
        yield


def _compute(cell: Cell, results: Results, device: torch.device, cadence: Cadence) -> Result:
    began, started = time.perf_counter(), datetime.now(UTC).isoformat(timespec="seconds")
    for settings in (cell.settings, *([cell.start.settings] if cell.start else [])):
        require_meaning(settings)
    cell_data = load_cell_data(cell, device)
    graphs, truth, data = cell_data.graphs, cell_data.truth, cell_data.record
    loaded = time.perf_counter()
    # By the data's digest, too: a file of one's own may have changed since the checkpoint was made.
    folder, weights = (top / cell_data.sha256[:16] for top in (results.work(cell.key), results.trained(cell.training)))
    trained = cell.start.settings if cell.start else cell.settings
    shape = graphs.num_features, cell_data.features.edge_shape
    with explained(trained, "or compute fewer cells at a time (--jobs)"), one_thread():
        method = build_method(trained, *shape).to(device)
        with noted_signals() as signals:
            memory = _CellMemory(folder, cadence, signals, token_of(cell.key))
            taken = take_training(weights, cell, method)
            if taken is None:
                _train(cell, method, cell_data, memory)
                keep_training(weights, cell, method, memory.metrics)
            signals.obey()
        with handled(end_at_once):
            if cell.start is not None:
                method = _started(method, build_pretraining(cell.settings, *shape).to(device))
            judging = time.perf_counter()
            lines = taken.metrics if taken else memory.metrics
            epochs = [json.loads(line) for line in lines] or [{"epoch": 0, "loss": None}]
            rank = effective_rank(embed_some(method, graphs))
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
        training={"epochs": epochs[-1]["epoch"], "loss": epochs[-1]["loss"], "effective_rank": rank},
        data=data,
        versions=versions(),
        hardware=hardware(device),
        times=times | {"total": sum(times.values()), "started": started} | ({"trained_by": taken.by} if taken else {}),
    )


def score_cell(
    cell: Cell, method: Method, graphs: Graphs, truth: Truth, epochs: Sequence[dict[str, Any]]
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The scores of a trained method by the cell's protocol, and what selection "paper" chose.

    ``epochs`` is what was noted of each; some have the ``scores`` of every C.
    """
    if cell.protocol == "finetune" and isinstance(method, Pretraining):  # a cell has checked that it is one
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
    """Also keeps the end of the training: judging may take longer than the training did."""

    def __init__(self, folder: Path, cadence: Cadence, signals: Signals, token: str) -> None:
        super().__init__(folder, cadence, signals, token)
        self.complete = False

    def due(self, *, epoch_ended: bool) -> bool:
        return super().due(epoch_ended=epoch_ended) or (epoch_ended and self.complete)


def _started(trained: Method, method: Pretraining) -> Pretraining:
    """``method`` with the encoder of the one that was trained, which a cell has checked to be alike."""
    assert isinstance(trained, Pretraining)
    method.encoder.load_state_dict(trained.encoder.state_dict())
    return method


def _train(cell: Cell, method: Pretraining | Embedder, cell_data: CellData, memory: _CellMemory) -> None:
    """Train to the end; the scores that selection "paper" looks at travel in the checkpoint, like the losses."""
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
        memory.metrics.append(json.dumps(line))
        memory.timings.append(json.dumps(spent))


@contextmanager
def one_thread() -> Iterator[None]:
    """The block computes on one thread, as cells do."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
