"""The command line in several processes: started by torchrun, or at once and without imports as it would do."""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.distributed.crew import free_port, started_once

WAIT = 120
"""Seconds after which a rank that has not ended counts as hanging."""


@dataclass(frozen=True)
class Ended:
    """Exit codes and what was printed to standard error, of each rank."""

    codes: list[int | None]
    said: list[str]


def run_ranks(folder: Path, *commands: Sequence[str], fault: str = "") -> Ended:
    """Run one command per rank; rank 1 has the ``fault`` of that name in ``tests.distributed.faults``."""
    port, jobs = free_port(), []
    for rank, command in enumerate(commands):
        environment: dict[str, object] = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": len(commands)}
        environment |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        jobs.append((list(command), {name: str(value) for name, value in environment.items()}, fault))
    return _run(folder, _be_rank, jobs)


def run_agents(folder: Path, *arguments: Sequence[str]) -> Ended:
    """Run torchrun with each of the ``arguments``, all at the same time; their ranks are new processes."""
    return _run(folder, _be_agent, [(list(one),) for one in arguments])


def _run(folder: Path, target: Callable[..., None], jobs: Sequence[tuple[Any, ...]]) -> Ended:
    context = started_once()
    folder.mkdir(parents=True, exist_ok=True)
    given = {name: value for name, value in os.environ.items() if name.startswith("NMRGCL_")}
    files = [folder / f"output-{number}" for number in range(len(jobs))]
    processes = [
        context.Process(target=_begin, args=(file, given, target, job)) for file, job in zip(files, jobs, strict=True)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(WAIT)
    codes = [process.exitcode for process in processes]
    for process in processes:
        process.kill()
    return Ended(codes, [file.read_text() for file in files])


def _begin(output: Path, environment: dict[str, str], target: Callable[..., None], job: tuple[Any, ...]) -> None:
    os.environ.update(environment)
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for number in (1, 2):
        os.dup2(descriptor, number)
    target(*job)


def _be_rank(command: list[str], environment: dict[str, str], fault: str) -> None:
    os.environ.update(environment)
    sys.argv = ["nmrgcl", *command]
    import torch

    from nmrgcl.cli import main
    from tests.distributed import faults

    torch.set_num_threads(1)
    if fault:
        getattr(faults, fault)(int(environment["RANK"]))
    main()


def _be_agent(arguments: list[str]) -> None:
    from torch.distributed.run import main

    main(arguments)
