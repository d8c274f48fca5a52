"""What goes wrong on one rank."""

import errno
import os
import signal
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import nmrgcl
from nmrgcl.methods.graphcl import GraphCL
from nmrgcl.run import machine, pretrain, ranks
from nmrgcl.train import checkpoint


def nan_on_one(rank: int) -> None:
    """Its third loss is not a number."""
    _after(rank, lambda loss: loss * torch.nan)


def killed(rank: int) -> None:
    """It is killed in its third batch."""
    _after(rank, lambda loss: os.kill(os.getpid(), signal.SIGKILL))


def slow(rank: int) -> None:
    """Its third batch takes longer than the others are willing to wait."""
    ranks.PATIENCE = timedelta(seconds=3)

    def wait(loss: Tensor) -> Tensor:
        time.sleep(6)
        return loss

    _after(rank, wait)


def out_of_memory(rank: int) -> None:
    """It has not enough memory for its third batch."""

    def fail(loss: Tensor) -> Tensor:
        raise MemoryError

    _after(rank, fail)


def _after(rank: int, change: Any, batches: int = 2) -> None:
    if rank != 1:
        return
    losses, seen = GraphCL.losses, 0

    def changed(self: GraphCL, *arguments: Any) -> Iterator[Tensor]:
        nonlocal seen
        seen += 1
        for loss in losses(self, *arguments):
            yield change(loss) if seen > batches else loss

    GraphCL.losses = changed  # type: ignore[method-assign, assignment]


def full_disk(rank: int) -> None:
    """Rank 0, which writes for all, has no space for its third checkpoint."""
    write, seen = checkpoint.atomic.write_bytes, 0

    def limited(path: Any, *arguments: Any) -> None:
        nonlocal seen
        seen += path.suffix == ".ckpt"
        if seen > 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        write(path, *arguments)

    checkpoint.atomic.write_bytes = limited  # type: ignore[assignment]


def other_version(rank: int) -> None:
    """It has another version of this package."""
    if rank == 1:
        other = machine.versions() | {"nmrgcl": "0.0.1"}
        pretrain.versions = lambda: other
        assert other["nmrgcl"] != nmrgcl.__version__


def count_threads(rank: int) -> None:
    """No fault: it prints the threads of gloo that are left when it has left the other ranks."""
    destroy = ranks.dist.destroy_process_group

    def counted() -> None:
        destroy()
        names = [file.read_text().strip() for file in Path("/proc/self/task").glob("*/comm")]
        print("left:", *(name for name in names if "gloo" in name))

    ranks.dist.destroy_process_group = counted  # type: ignore[assignment]
