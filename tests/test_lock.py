"""A lock has one owner, dies with it, and is never written over that of another program."""

import os
import signal
from pathlib import Path

import pytest

from nmrgcl.lock import BusyError, locked


def test_a_lock_dies_with_its_owner(tmp_path: Path) -> None:
    child = os.fork()
    if not child:
        with locked(tmp_path):
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    with locked(tmp_path):
        pass


@pytest.mark.parametrize("text", ["", "4242\n", "process of thought on paper", "process 1 on a host\nand more"])
def test_another_program_s_lock_is_held_but_not_written_to(tmp_path: Path, text: str) -> None:
    (tmp_path / ".lock").write_text(text)
    with locked(tmp_path), pytest.raises(BusyError, match="another process is writing here"), locked(tmp_path):
        pass
    assert (tmp_path / ".lock").read_text() == text
