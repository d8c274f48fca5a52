"""``kill -9`` at random instants, several times in a row, until the run is through: it must end as if undisturbed."""

import random
import time
from pathlib import Path

from tests.faults import child
from tests.faults.small import assert_same, assert_whole, scratch, train, uninterrupted
from tests.faults.tally import Tally

ENOUGH = 25
"""Kills after which a run is let through."""


def kills(amount: int, seed: int = 0) -> Tally:
    """At least ``amount`` kills."""
    tally = Tally("killed at random instants, resumed to the same bytes")
    chance = random.Random(f"kills {seed}")
    with tally.timed(), scratch() as folder:
        expected = uninterrupted()
        usual = _usual_seconds(folder)
        runs = 0
        while tally.tried < amount:
            runs += 1
            _one_run(tally, folder / f"run-{runs}", expected, usual, chance)
    tally.facts |= {"runs": runs, "usual_seconds": round(usual, 3)}
    return tally


def _one_run(tally: Tally, out: Path, expected: dict[str, bytes], usual: float, chance: random.Random) -> None:
    """Kill until it is through; its kills have survived if all that was ever there was whole, and the end is right."""
    steps = chance.randint(1, 3)
    with tally.life(f"{out.name}, a checkpoint every {steps} steps") as killed:
        while True:
            running = child.start(lambda: train(out, steps=steps))
            instant = chance.uniform(0, usual)
            if len(killed) < ENOUGH and not running.ends_within(instant):
                running.kill()
            if not running.end().expect(child.DONE, -9).killed:
                break
            killed.append(instant)
            assert_whole(out)
        assert_same(out, expected)


def _usual_seconds(folder: Path) -> float:
    """The longest of three, so that the end of a run is reached by kills, too."""
    seconds = []
    for number in range(3):
        began = time.perf_counter()
        child.run(lambda number=number: train(folder / f"usual-{number}")).expect(child.DONE)  # type: ignore[misc]
        seconds.append(time.perf_counter() - began)
    return max(seconds)
