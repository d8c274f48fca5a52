"""A share of ``make faults`` in every test run; each promise in a process of its own, which may fork as it likes."""

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.faults import child
from tests.faults.flips import damaged
from tests.faults.promises import PROMISES
from tests.faults.scan import suspicious
from tests.faults.steps import Steps
from tests.faults.tally import Tally

ROOT = Path(__file__).parents[2]
AT_LEAST = {
    "kills": 40,
    "methods": 51,
    "cuts": 100,
    "flips": 500,
    "malice": 40,
    "foreign": 40,
    "devices": 150,
    "forged": 150,
    "crowds": 50,
    "sweeps": 3,
}


@pytest.mark.parametrize("name", PROMISES)
def test_a_share_of_every_promise_holds(name: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.faults", "--share", "--only", name, "--out", str(tmp_path / "out.json")]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = json.loads((tmp_path / "out.json").read_text())[name]
    assert found["survived"] == found["tried"] >= AT_LEAST.get(name, 1)


def test_what_breaks_is_counted_and_told() -> None:
    tally = Tally("none")
    with tally.trial("one"):
        pass
    with tally.trial("two"):
        raise ValueError("torn\nfile")
    with tally.life("three") as killed:
        killed += [0.1, 0.2]
        raise KeyError("lost")
    assert (tally.tried, tally.survived) == (4, 1)
    assert tally.broken == ["two: ValueError: torn file", "three, after 2 kills: KeyError: 'lost'"]


def test_a_child_that_crashes_or_is_killed_is_not_taken_for_a_refusal() -> None:
    assert child.run(lambda: 1 / 0).code == child.CRASHED
    running = child.start(lambda: time.sleep(60))
    running.kill()
    assert running.end().killed
    with pytest.raises(AssertionError, match="ended with 3"):
        child.run(lambda: 1 / 0).expect(child.DONE, child.REFUSED)


def test_a_torn_write_is_made(tmp_path: Path) -> None:
    """The machinery does leave halves of files behind; otherwise it would prove nothing."""

    def write(stop_at: int) -> list[str]:
        steps = Steps(stop_at)
        steps.watch()
        (tmp_path / "file").write_bytes(b"0123456789")
        return list(steps.done)

    assert child.run(lambda: write(0)).value == ["open", "write", "second half of a write"]
    (tmp_path / "file").unlink()
    assert child.run(lambda: write(3)).killed
    assert (tmp_path / "file").read_bytes() == b"01234"


def test_damage_is_damage() -> None:
    chance = random.Random(0)
    content = bytes(range(256))
    assert all(damaged(content, chance) != content for _ in range(1000))


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from pickle import loads",
        "torch.load(path)",
        "fs.torch_load(path)",
        "numpy.load(path, allow_pickle=True)",
        "numpy.load(path, allow_pickle=trust)",
        "archive.extractall(place)",
        "eval(text)",
    ],
)
def test_a_loader_that_runs_what_it_reads_is_found(source: str) -> None:
    assert suspicious(source)
    assert not suspicious("numpy.load(path, allow_pickle=False); method.eval(); json.loads(text)")
