"""The engine computes each cell once, survives failures, and loses nothing when interrupted."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import torch

from nmrgcl.errors import SettingError
from nmrgcl.lock import locked
from nmrgcl.run.backends import BACKENDS, Place
from nmrgcl.run.cell import Cell
from nmrgcl.run.engine import Summary, run_cells
from nmrgcl.run.execute import CellOutcome, compute_cell, execute
from nmrgcl.run.interrupt import Interrupted
from nmrgcl.run.machine import OutOfMemoryError, cuda_is_unusable
from nmrgcl.run.results import Results
from nmrgcl.train import pretrain
from tests.run.cells import CPU, quick

POISON = quick(seed=7)
HUGE = quick(seed=8)
NOWHERE = quick("./nowhere/X")


def deadly(run: Cell, folder: Path, device: str, stop: Path) -> CellOutcome:
    """A worker that always dies on one cell."""
    if run == POISON:
        os.kill(os.getpid(), signal.SIGKILL)
    return compute_cell(run, folder, device, stop)


def sickly(run: Cell, folder: Path, device: str, stop: Path) -> CellOutcome:
    """A worker whose CUDA context is unusable after a cell has failed."""
    outcome = compute_cell(run, folder, device, stop)
    if outcome.status == "failed":
        sys.modules["nmrgcl.run.execute"].cuda_is_unusable = lambda: True  # type: ignore[attr-defined]
    return outcome


def crowded(run: Cell, folder: Path, device: str, stop: Path) -> CellOutcome:
    """A worker that runs out of memory for one cell at first, and for another one always."""
    here, mark = sys.modules["nmrgcl.run.execute"], folder / ".crowded"
    here.cuda_is_unusable = cuda_is_unusable  # type: ignore[attr-defined]  # `sickly` may have run in this worker
    if run == HUGE or (run == POISON and not mark.exists()):
        if run == POISON:
            mark.touch()
        with patch.object(here, "execute", side_effect=OutOfMemoryError("full")):
            return compute_cell(run, folder, device, stop)
    return compute_cell(run, folder, device, stop)


def endless(method: Any, *arguments: Any, **options: Any) -> Iterator[Any]:
    for epoch in pretrain(method, *arguments, **options):
        os.kill(os.getpid(), signal.SIGINT)
        yield epoch


def test_every_cell_is_computed_once(tmp_path: Path) -> None:
    cells = [quick(), quick(seed=1), quick("Motifs")]
    seen: list[tuple[str, str]] = []
    options: dict[str, Any] = {
        "backend": "inline",
        "on_done": lambda cell, outcome: seen.append((cell.key, outcome.status)),
    }
    found = run_cells(cells, tmp_path, **options)
    assert found == Summary(done=(cells[0].key, cells[1].key))
    assert seen == [(cells[0].key, "done"), (cells[1].key, "done")]
    Results(tmp_path).work(cells[0].key).mkdir()
    assert run_cells([*cells, quick(seed=2)], tmp_path, **options) == Summary(
        done=(quick(seed=2).key,), skipped=(cells[0].key, cells[1].key)
    )
    assert not Results(tmp_path).work(cells[0].key).exists()


@pytest.mark.parametrize(("cuda", "count"), [(True, 4), (False, 16)])
def test_cells_share_the_device_that_auto_means_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cuda: bool, count: int
) -> None:
    asked: list[tuple[str, int]] = []

    def counted(cells: Iterable[Cell], place: Place, jobs: int) -> Iterator[CellOutcome]:
        asked.append((place.device, jobs))
        return (CellOutcome(cell.key, "done", 50.0) for cell in cells)

    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)), raising=False)
    for backend in ("processes", "slurm"):
        monkeypatch.setitem(BACKENDS, backend, counted)
        assert run_cells([quick()], tmp_path, backend=backend).complete
    # Each worker resolves "auto" itself, and those of Slurm are not on this machine.
    assert asked == [("auto", count), ("auto", 16)]


def test_a_failed_cell_is_recorded_and_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(run: Cell, *arguments: Any, **options: Any) -> Any:
        if run.seed == 1:
            raise RuntimeError("first line\nsecond \x1b line")
        return execute(run, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr("nmrgcl.run.execute.execute", broken)
        found = run_cells([NOWHERE, quick(seed=1), quick()], tmp_path, backend="inline")
    assert found == Summary(done=(quick().key,), failed=(NOWHERE.key, quick(seed=1).key))
    assert not found.complete
    failed = {result.key: result.error for result in Results(tmp_path).failed()}
    assert failed[NOWHERE.key] == {"type": "DataError", "message": "./nowhere/X: no such file or folder"}
    assert failed[quick(seed=1).key] == {"type": "RuntimeError", "message": "first line second line"}
    assert run_cells([quick(seed=1)], tmp_path, backend="inline").complete
    assert [result.key for result in Results(tmp_path).failed()] == [NOWHERE.key]


def test_a_cell_that_another_process_computes_is_left_to_it(tmp_path: Path) -> None:
    with locked(tmp_path / ".locks", f"{quick().key}.lock"):
        found = run_cells([quick(), quick(seed=1)], tmp_path, backend="inline")
    assert found == Summary(done=(quick(seed=1).key,), busy=(quick().key,))
    assert Results(tmp_path).failed() == []


def test_an_interrupt_ends_the_engine_with_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmrgcl.run.execute.pretrain", endless)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(Interrupted) as caught:
        run_cells([quick(), quick(seed=1)], tmp_path, backend="inline")
    assert caught.value.signum == signal.SIGINT
    assert signal.getsignal(signal.SIGINT) is before
    assert list(Results(tmp_path).work(quick().key).glob("*/*.ckpt"))
    assert not Results(tmp_path).work(quick(seed=1).key).exists()
    assert not list(tmp_path.glob(".stop*"))


def test_a_signal_makes_every_worker_keep_a_checkpoint(tmp_path: Path) -> None:
    cells = [quick(seed=seed, epochs=100_000) for seed in range(3)]
    results = Results(tmp_path)

    def end_when_under_way() -> None:
        limit = time.monotonic() + 60
        while not all((tmp_path / ".locks" / f"{c.key}.lock").exists() for c in cells[:2]) and time.monotonic() < limit:
            time.sleep(0.05)
        time.sleep(1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=end_when_under_way).start()
    with pytest.raises(Interrupted) as caught:
        run_cells(cells, tmp_path, backend="processes", jobs=2, device="cpu")
    assert caught.value.signum == signal.SIGTERM
    assert [bool(list(results.work(cell.key).glob("*/*.ckpt"))) for cell in cells] == [True, True, False]
    assert not list(tmp_path.glob(".stop*"))


def test_processes_survive_a_cell_that_kills_its_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("nmrgcl.run.backends.compute_cell", deadly)
    found = run_cells([quick(), POISON, NOWHERE], tmp_path, backend="processes", jobs=2, device="cpu")
    assert found == Summary(done=(quick().key,), failed=(NOWHERE.key,), lost=(POISON.key,))
    assert "a worker died" in capsys.readouterr().err
    here = execute(quick(), Results(tmp_path / "inline"), device=CPU)
    there = Results(tmp_path).get(quick().key)
    assert there is not None
    assert (there.scores, there.training) == (here.scores, here.training)


def test_a_worker_that_can_only_fail_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("nmrgcl.run.backends.compute_cell", sickly)
    # Two cells fail, so that at least one of the workers that ran them gets another cell afterwards.
    failing, others = [NOWHERE, quick("./nowhere/Y")], [quick(seed=seed) for seed in range(3)]
    found = run_cells([*failing, *others], tmp_path, backend="processes", jobs=2, device="cpu")
    assert {*found.failed} == {cell.key for cell in failing}
    assert {*found.done} == {cell.key for cell in others}
    assert "a worker died" in capsys.readouterr().err


def test_a_cell_that_lacks_memory_beside_others_is_tried_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmrgcl.run.backends.compute_cell", crowded)
    told: list[tuple[str, str]] = []
    cells = [POISON, HUGE, quick()]
    found = run_cells(
        cells, tmp_path, jobs=2, device="cpu", on_done=lambda cell, outcome: told.append((cell.key, outcome.status))
    )
    assert found == Summary(done=(quick().key, POISON.key), failed=(HUGE.key,))  # The cell that is retried comes last.
    assert sorted(told) == sorted([(quick().key, "done"), (POISON.key, "done"), (HUGE.key, "failed")])
    assert [(result.key, result.error) for result in Results(tmp_path).failed()] == [
        (HUGE.key, {"type": "OutOfMemoryError", "message": "full"})
    ]


@pytest.mark.parametrize(
    ("error", "expected"), [(None, False), (torch.OutOfMemoryError("full"), False), (RuntimeError("gone"), True)]
)
def test_a_full_gpu_is_not_unusable(error: Exception | None, expected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def rand(count: int, device: str) -> torch.Tensor:
        if error is not None:
            raise error
        return torch.zeros(count)

    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch, "rand", rand)
    assert cuda_is_unusable() is expected


def test_without_workers_an_unusable_gpu_ends_the_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = iter([False, True])
    monkeypatch.setattr("nmrgcl.run.backends.cuda_is_unusable", lambda: next(told))
    with pytest.raises(SettingError, match="run the command again to continue"):
        run_cells([quick(), quick(seed=1)], tmp_path, backend="inline")
    assert Results(tmp_path).finished(quick().key)


def test_an_unknown_backend_and_a_file_in_the_way_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="inline"):
        run_cells([quick()], tmp_path, backend="inlined")  # type: ignore[arg-type]
    (tmp_path / "file").touch()
    with pytest.raises(SettingError, match="is a file"):
        run_cells([quick()], tmp_path / "file")
