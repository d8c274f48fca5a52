"""The run that is broken on purpose: two seeds of three epochs of three batches, a tenth of a second in all."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import torch

from nmrgcl.data.motifs import motifs
from nmrgcl.model_folder import load_model
from nmrgcl.run.cell import Cell
from nmrgcl.run.checkpoints import Cadence
from nmrgcl.run.execute import execute
from nmrgcl.run.folder import read_record
from nmrgcl.run.pretrain import pretrain_seeds
from nmrgcl.run.results import Result, Results
from nmrgcl.settings import Settings
from nmrgcl.store import write_store
from nmrgcl.train.checkpoint import read_checkpoint

DATA = motifs(graphs=20)
SETTINGS = Settings().updated({"epochs": 3, "batch_size": 8, "layers": 1, "encoder.units": 4, "train.patience": 2})
STEPS = 3 * 3
SEEDS = 2
_MEMORY = "/dev/shm"
OF_THE_MOMENT = ("timings.jsonl", ".lock")


def train(out: Path, *, steps: int = 1, seeds: int = SEEDS, settings: Settings = SETTINGS, **options: Any) -> None:
    """Start the run or go on with it, with a checkpoint every so many ``steps``."""
    given: dict[str, Any] = {"resume": "auto", "cadence": Cadence(steps=steps)} | options
    for _ in pretrain_seeds(DATA, settings, seeds=range(seeds), out=out, device=torch.device("cpu"), **given):
        pass


def files(folder: Path) -> dict[str, bytes]:
    """Everything in a folder, hidden files and empty folders too, but for times and the lock."""
    found = (p for p in folder.rglob("*") if p.name not in OF_THE_MOMENT)
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else b"" for p in found}


def assert_same(folder: Path, expected: dict[str, bytes]) -> None:
    """Byte for byte, nothing missing and nothing left over."""
    found = files(folder)
    assert found.keys() == expected.keys(), f"files differ: {sorted(found.keys() ^ expected.keys())}"
    different = [name for name in found if found[name] != expected[name]]
    assert not different, f"bytes differ: {different}"


def assert_whole(out: Path) -> None:
    """Whatever has its final name can be read: nothing is torn, whenever the writer was killed."""
    for path in out.rglob("*.ckpt"):
        if not path.name.startswith("."):
            read_checkpoint(path)
    for folder in out.glob("seed-*"):
        load_model(folder)
        for name in ("metrics.jsonl", "timings.jsonl"):
            assert len([json.loads(line) for line in (folder / name).read_text().splitlines()]) > 0
    read_record(out)
    if (out / "settings.json").exists():
        Settings.from_dict(json.loads((out / "settings.json").read_text()))


@cache
def uninterrupted() -> dict[str, bytes]:
    """What the run leaves when nothing happens; having made it, this process is warm."""
    torch.set_num_threads(1)
    with scratch() as folder:
        train(folder / "run", steps=0)
        return files(folder / "run")


def small_cells(folder: Path, amount: int) -> list[Cell]:
    """Cells of a table on the same graphs, which are written to ``folder``."""
    write_store(folder, DATA.graphs)
    settings = SETTINGS.updated({"svm.folds": 2, "svm.c": "default"})
    return [Cell(str(folder), settings.updated({"seed": number})) for number in range(amount)]


def small_result(folder: Path) -> Result:
    """What becomes of one of them, which is kept in ``folder/results``."""
    folder.mkdir()
    return execute(small_cells(folder / "data", 1)[0], Results(folder / "results"), device=torch.device("cpu"))


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder for the length of a block; in memory where possible, for a killed process loses nothing it wrote."""
    folder = Path(tempfile.mkdtemp(prefix="nmrgcl-faults-", dir=_MEMORY if os.access(_MEMORY, os.W_OK) else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
