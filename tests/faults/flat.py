"""Memory over many steps: after the first tenth it does not grow."""

import itertools
import resource
from pathlib import Path

import torch

from nmrgcl.run.checkpoints import Cadence
from nmrgcl.run.pretrain import pretrain_seeds
from tests.faults import child
from tests.faults.small import DATA, SETTINGS, scratch, uninterrupted
from tests.faults.tally import Tally

ALLOWED = 2 << 20
BATCH = 2
CHECKPOINT_EVERY = 50


def flat(steps: int) -> Tally:
    """One run of about ``steps`` batches, with checkpoints on the way."""
    tally = Tally("resident memory grows by less than 2 MB after a tenth of a run")
    with tally.timed(), scratch() as folder, tally.trial(f"{steps} steps"):
        uninterrupted()
        grown = child.start(lambda: _grown(folder / "run", steps)).end(patience=1200).expect(child.DONE).value
        tally.facts = {"steps": steps, "grown_mb": round(grown / 2**20, 2)}
        assert grown < ALLOWED, f"grew by {grown / 2**20:.1f} MB"
    return tally


def _grown(out: Path, steps: int) -> int:
    epochs = steps * BATCH // DATA.graphs.num_graphs
    settings = SETTINGS.updated({"train.epochs": epochs, "batch_size": BATCH, "train.patience": 0})
    progress = pretrain_seeds(
        DATA, settings, seeds=[0], out=out, device=torch.device("cpu"), cadence=Cadence(steps=CHECKPOINT_EVERY)
    )
    for _ in itertools.islice(progress, epochs // 10):
        pass
    before = _resident()
    for _ in progress:
        pass
    return _resident() - before


def _resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
