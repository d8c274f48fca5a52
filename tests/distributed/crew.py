"""Real processes that share a process group and do one job after another, so that many facts cost one start."""

import importlib
import multiprocessing
import os
import socket
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

WAIT = 300
PRELOADED = [
    "torch.nn.parallel",
    "torch.distributed.run",
    "nmrgcl.methods",
    "nmrgcl.run",
    "tests.distributed.jobs",
    "tests.methods.members",
]


class Crew:
    """``size`` processes; ``run("name", …)`` calls ``tests.distributed.jobs.name(rank, …)`` in each of them."""

    def __init__(self, size: int) -> None:
        self.size = size
        context = started_once()
        port = free_port()
        self.ends: list[Connection] = []
        self.processes = []
        for rank in range(size):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(rank, size, port, theirs), daemon=True)
            process.start()
            self.ends.append(ours)
            self.processes.append(process)

    def run(self, job: str, *arguments: Any) -> list[Any]:
        """The results of all ranks, in order; AssertionError with the traceback if one of them failed."""
        for end in self.ends:
            end.send((job, arguments))
        found = []
        for rank, end in enumerate(self.ends):
            assert end.poll(WAIT), f"rank {rank} does not answer"
            good, value = end.recv()
            assert good, f"rank {rank}: {value}"
            found.append(value)
        return found

    def close(self) -> None:
        for end in self.ends:
            end.close()
        for process in self.processes:
            process.join(10)
            process.kill()


@contextmanager
def crew_of(size: int) -> Iterator[Crew]:
    crew = Crew(size)
    try:
        yield crew
    finally:
        crew.close()


def started_once() -> Any:
    """Processes that begin as copies of one that has imported everything."""
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _serve(rank: int, size: int, port: int, end: Connection) -> None:
    import torch
    from torch import distributed as dist

    torch.set_num_threads(1)
    store = dist.TCPStore("127.0.0.1", port, size, is_master=rank == 0)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size)
    jobs = importlib.import_module("tests.distributed.jobs")
    jobs.begin(size)
    while True:
        try:
            job, arguments = end.recv()
        except EOFError:
            return
        try:
            end.send((True, getattr(jobs, job)(rank, *arguments)))
        except Exception:
            end.send((False, traceback.format_exc()))
