"""Every method, killed after each of its batches in a row: what it needs to go on is in its checkpoints."""

import os
import signal
from pathlib import Path
from typing import Any

import torch

from nmrgcl.methods import Level
from nmrgcl.run import checkpoints
from nmrgcl.run.checkpoints import Cadence
from nmrgcl.run.pretrain import pretrain_seeds
from tests.faults import child
from tests.faults.small import assert_same, files, scratch, uninterrupted
from tests.faults.tally import Tally
from tests.methods.members import MEMBERS, dataset_for, known_here, settings_of

BATCHES: dict[Level, int] = {"graph": 2, "node": 1}
"""Of an epoch."""


def methods() -> Tally:
    """One life per method and level."""
    tally = Tally("methods killed after each batch, resumed to the same bytes")
    with tally.timed(), scratch() as folder, known_here():
        uninterrupted()
        for name, level in MEMBERS:
            tally.facts[f"{name} of {level}s"] = _one_life(tally, folder, name, level)
    return tally


def _one_life(tally: Tally, folder: Path, name: str, level: Level) -> int:
    """How often it was killed."""
    whole, out = folder / f"{name}-{level}-whole", folder / f"{name}-{level}"
    batches = settings_of(name, level=level).train.epochs * BATCHES[level]
    with tally.life(f"{name} of {level}s") as killed:
        child.run(lambda: _train(whole, name, level)).expect(child.DONE)
        while child.run(lambda: _train_a_batch(out, name, level)).expect(child.DONE, -9).killed:
            killed.append(len(killed))
            assert len(killed) <= batches, "it starts over"
        assert len(killed) == batches, "it was not killed after every batch"
        assert_same(out, files(whole))
    return len(killed)


def _train(out: Path, name: str, level: Level) -> None:
    settings = settings_of(name, level=level)
    options: dict[str, Any] = {"resume": "auto", "cadence": Cadence(steps=1), "device": torch.device("cpu")}
    for _ in pretrain_seeds(dataset_for(name, level), settings, seeds=[0], out=out, **options):
        pass


def _train_a_batch(out: Path, name: str, level: Level) -> None:
    """Until its checkpoint is written; without one, to the end."""
    write = checkpoints.write_checkpoint

    def write_and_die(*arguments: Any) -> None:
        write(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)

    checkpoints.write_checkpoint = write_and_die  # type: ignore[assignment]  # this process is a child's
    _train(out, name, level)
