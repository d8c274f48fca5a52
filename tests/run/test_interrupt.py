"""The time limit acts like a signal, and only while signals are handled."""

import signal
import subprocess
import sys
import threading
import time

import pytest

from nmrgcl.run.interrupt import Interrupted, TimeLimit, end_at_once, handled

MANY_SHORT = """
import time
from nmrgcl.run.interrupt import Interrupted, TimeLimit
from nmrgcl.run.interrupt import end_at_once, handled

ended = 0
for attempt in range(600):
    limit = TimeLimit(attempt % 30 * 1e-5 + 1e-6 if attempt % 31 else 60)
    try:
        with handled(end_at_once), limit.running():
            time.sleep(1.5e-4)
    except Interrupted:
        ended += 1
        assert limit.passed
    else:
        assert not limit.passed
print(ended)
"""


def test_it_interrupts_what_takes_longer() -> None:
    limit = TimeLimit(0.05)
    start = time.monotonic()
    with pytest.raises(Interrupted) as caught, handled(end_at_once), limit.running():
        time.sleep(30)
    assert time.monotonic() - start < 20
    assert limit.passed
    assert caught.value.signum == signal.SIGTERM


def test_what_is_done_earlier_is_left_alone() -> None:
    limit = TimeLimit(30)
    before = threading.active_count()
    with handled(end_at_once), limit.running():
        pass
    assert not limit.passed
    assert threading.active_count() == before  # Its timer has stopped.


def test_none_is_no_limit() -> None:
    limit = TimeLimit(0)
    with limit.running():
        time.sleep(0.01)
    assert not limit.passed


def test_no_moment_is_one_at_which_it_ends_the_process() -> None:
    """Limits shorter than the set-up, about as long as the block, and much longer."""
    done = subprocess.run([sys.executable, "-c", MANY_SHORT], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert 0 < int(done.stdout) < 600
