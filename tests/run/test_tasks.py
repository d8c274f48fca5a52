"""Tasks that are computed on this machine."""

import os
from pathlib import Path
from typing import Any

import pytest
import torch

from nmrgcl.run.tasks import compute_tasks


def process_of(item: int) -> tuple[int, int]:
    return item, os.getpid()


@pytest.mark.parametrize("cuda", [True, False])
def test_one_task_at_a_time_uses_the_device_if_auto_means_cuda(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cuda: bool
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1}, raising=False)
    options: dict[str, Any] = {"backend": "processes", "device": "auto", "folder": tmp_path}
    found = dict(compute_tasks(process_of, range(3), name=str, lost=lambda item, why: (item, 0), **options))
    assert sorted(found) == [0, 1, 2]
    assert (set(found.values()) == {os.getpid()}) == cuda
