"""Eight processes on one folder at once: one works, the others are told so, and what is left is right."""

import os
import random
import time
from pathlib import Path

import torch

from nmrgcl.run.checkpoints import Cadence
from nmrgcl.run.pretrain import pretrain_seeds
from tests.faults import child
from tests.faults.small import DATA, SEEDS, SETTINGS, assert_same, assert_whole, scratch, train, uninterrupted
from tests.faults.tally import Tally

CROWD = 8
SPREAD = 0.3
"""Seconds within which they come."""


def crowds(amount: int, seed: int = 0) -> Tally:
    """At least ``amount`` processes; in every other crowd, those that work are killed again and again."""
    tally = Tally(f"{CROWD} runs at once in one folder, one at a time, the same bytes")
    chance = random.Random(f"crowds {seed}")
    tally.facts = {"worked": 0, "refused": 0, "killed": 0}
    with tally.timed(), scratch() as folder:
        uninterrupted()
        for number in range(-(-amount // CROWD)):
            _one_crowd(tally, folder / f"run-{number}", chance, deadly=number % 2 == 1)
    return tally


def _one_crowd(tally: Tally, out: Path, chance: random.Random, *, deadly: bool) -> None:
    gate_reading, gate_writing = os.pipe()
    crowd = []
    for _ in range(CROWD):
        wait = chance.uniform(0, SPREAD)
        crowd.append(child.start(lambda wait=wait: _enter(out, gate_reading, gate_writing, wait)))  # type: ignore[misc]
    os.close(gate_reading)
    os.close(gate_writing)
    for member in crowd if deadly else []:
        if chance.random() < 0.5 and not member.ends_within(chance.uniform(0, SPREAD / 4)):
            member.kill()
    ends = [member.end() for member in crowd]
    for number, ended in enumerate(ends):
        with tally.trial(f"{out.name}, process {number}"):
            ended.expect(child.DONE, child.REFUSED, -9)
            tally.facts["killed" if ended.killed else "refused" if ended.told else "worked"] += 1
            assert not ended.told or "is writing here" in ended.told, ended.told
            assert not ended.value, "two worked at the same time"
            if number == 0:
                _finish(out)


def _finish(out: Path) -> None:
    assert_whole(out)
    child.run(lambda: train(out)).expect(child.DONE)  # whoever was killed holds no lock any more
    assert_same(out, uninterrupted())


def _enter(out: Path, gate_reading: int, gate_writing: int, wait: float) -> bool:
    """Wait for the gate to open, then run; True if another process was seen at work meanwhile."""
    os.close(gate_writing)
    os.read(gate_reading, 1)
    time.sleep(wait)
    witness = out.with_name(f"{out.name}.at-work")
    epochs = pretrain_seeds(
        DATA, SETTINGS, seeds=range(SEEDS), out=out, device=torch.device("cpu"), resume="auto", cadence=Cadence(steps=1)
    )
    for _ in epochs:
        witness.write_text(str(os.getpid()))
        time.sleep(0.002)
        if witness.read_text() != str(os.getpid()):
            return True
    return False
