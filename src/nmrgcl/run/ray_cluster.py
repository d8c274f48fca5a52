"""Ray: connect to a cluster, check what its workers have, and compute tasks on it."""

import logging
import math
import os
import secrets
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

from nmrgcl import __version__
from nmrgcl.errors import SettingError, printable

ANSWER, CHECK = 10.0, 90.0
"""Seconds to wait for the cluster to answer at all, and for every node to report its versions."""
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""How a client of gRPC, which Ray speaks, begins; a server answers with settings, a frame of type 4."""
_POLL = 0.5

Item = TypeVar("Item")
Found = TypeVar("Found")


def connect(address: str | None) -> None:
    """Connect to the cluster at ``address`` or RAY_ADDRESS, or start one on this machine; once per process.

    An address where no cluster answers raises SettingError within seconds; Ray itself would wait for minutes.
    """
    try:
        import ray
    except ImportError:
        raise SettingError("backend ray needs Ray: pip install 'nmrgcl[ray]'") from None
    if ray.is_initialized():
        return
    address = address or os.environ.get("RAY_ADDRESS") or None
    options: dict[str, Any] = {"address": address} if address else {"include_dashboard": False}
    # A server that expects TLS would not answer the plain greeting.
    if address and address not in ("auto", "local") and not os.environ.get("RAY_USE_TLS"):
        _require_answer(address)
    try:
        ray.init(log_to_driver=False, logging_level=logging.ERROR, **options)
    except (Exception, SystemExit) as error:
        place = f"--address {printable(address)}" if address else "Ray"
        raise SettingError(f"{place}: {_one_line(error) or 'Ray does not start'}") from None


def _require_answer(address: str) -> None:
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise SettingError(f"--address {printable(address)}: expected HOST:PORT, for example 10.0.0.1:6379, or auto")
    try:
        # IPv6 addresses are written in brackets.
        with socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER) as there:
            there.settimeout(ANSWER)
            there.sendall(GREETING)
            answer = there.recv(4, socket.MSG_WAITALL)
    except (OSError, UnicodeError) as error:
        raise _silent(address, _one_line(getattr(error, "strerror", None) or error)) from None
    # The first three bytes of a frame are its length.
    if answer[3:] != b"\x04":
        raise _silent(address, "something else than Ray answers")


def _silent(address: str, why: str) -> SettingError:
    return SettingError(f"--address {printable(address)}: no Ray cluster answers there ({why}); check ray status")


@cache
def require_workers(folder: Path, packages: tuple[str, ...] = ()) -> None:
    """Raise SettingError unless every node has the versions of this process and sees ``folder``.

    ``packages`` are those that the tasks need in addition to Python, torch and this package.
    """
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    packages = ("torch", *packages)
    ours, token = _versions(packages), folder / f".ray-{secrets.token_hex(8)}"

    def look(token: str) -> dict[str, str]:  # Sent by value: a worker may lack this package.
        import contextlib
        import importlib.metadata
        import os
        import platform

        found = {"python": ".".join(platform.python_version_tuple()[:2]), "folder": str(os.path.exists(token))}
        with contextlib.suppress(ImportError):
            import nmrgcl

            found["nmrgcl"] = nmrgcl.__version__
        for name in packages:
            with contextlib.suppress(ImportError):  # This includes a package without metadata.
                found[name] = importlib.metadata.version(name).partition("+")[0]
        return found

    nodes = {node["NodeID"]: node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]}
    folder.mkdir(parents=True, exist_ok=True)
    token.touch()
    try:
        # Without a core of its own, so that it also runs where all cores are taken.
        task = ray.remote(num_cpus=0, max_retries=0)(look)
        asked = {
            task.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)).remote(str(token)): place
            for node, place in nodes.items()
        }
        done, late = ray.wait(list(asked), num_returns=len(asked), timeout=CHECK)
        if late:
            raise SettingError(f"Ray: the worker {asked[late[0]]} does not answer; check ray status")
        for answer in done:
            _require_same(ray.get(answer), ours, asked[answer], folder)
    except ray.exceptions.RayError as error:
        raise SettingError(f"Ray: a worker failed its check ({_one_line(error)}); check ray status") from None
    finally:
        token.unlink(missing_ok=True)


def _versions(packages: Iterable[str]) -> dict[str, str]:
    """The versions that every worker must have: results depend on them, and pickles do too."""
    found = {"python": ".".join(map(str, sys.version_info[:2])), "nmrgcl": __version__}
    for name in packages:
        with suppress(PackageNotFoundError):
            found[name] = version(name).partition("+")[0]
    return found


def _require_same(found: dict[str, str], ours: dict[str, str], place: str, folder: Path) -> None:
    for name, here in ours.items():
        there = found.get(name)
        if there != here:
            told = f"has {name} {there}" if there else f"has no {name}"
            raise SettingError(f"Ray: the worker {place} {told}, but {here} is needed; install the same version there")
    if found["folder"] != "True":
        raise SettingError(f"Ray: the worker {place} does not see {folder}; choose a folder that all machines share")


def slots(jobs: int, device: str, sharing: int) -> tuple[int, float]:
    """The number of tasks at a time, and the share of a GPU that each of them reserves.

    Ray hides the GPUs from tasks that reserve none. With ``jobs`` 0, there is a task per core, or ``sharing`` per GPU.
    """
    import ray

    resources = ray.cluster_resources()
    cores, gpus = int(resources.get("CPU", 1)), int(resources.get("GPU", 0))
    if device == "cuda" and not gpus:
        raise SettingError("--device cuda: the Ray cluster has no GPU; use --device cpu")
    if device == "cpu" or not gpus:
        return jobs or max(cores, 1), 0.0
    jobs = jobs or max(1, min(cores, gpus * sharing))
    # Rounded up, because a task cannot use parts of two GPUs.
    return jobs, 1 / max(1, math.ceil(jobs / gpus))


def run_tasks(
    work: Callable[[Item], Found],
    items: Iterable[Item],
    *,
    jobs: int,
    gpus: float = 0.0,
    name: Callable[[Item], str],
    lost: Callable[[Item, str], Found],
) -> Iterator[Found]:
    """Yield ``work(item)`` for each item in the order in which they finish, at most ``jobs`` at a time.

    If a worker dies, only its own item is affected: it is computed again, and ``lost`` gives the outcome if a worker
    dies of it twice. Tasks have a ``name`` in Ray's lists and logs, and start in this folder with this process's
    ``NMRGCL_…`` variables.
    """
    import ray
    from ray.exceptions import OutOfMemoryError, RayError, RayTaskError

    folder, variables = os.getcwd(), {key: value for key, value in os.environ.items() if key.startswith("NMRGCL_")}

    def there(item: Item) -> Found:
        with suppress(OSError):
            os.chdir(folder)
        os.environ.update(variables)
        return work(item)

    task = ray.remote(max_retries=0, num_cpus=1, num_gpus=gpus)(there)
    again, retried, running = list[Item](), list[Item](), dict[Any, Item]()
    waiting = iter(items)
    try:
        while True:
            # No more items are taken than can start: which one comes next may depend on results until then.
            for item in islice(chain(_taken(again), waiting), jobs - len(running)):
                running[task.options(name=name(item)).remote(item)] = item
            if not running:
                return
            for answer in ray.wait(list(running), timeout=_POLL)[0]:
                item = running.pop(answer)
                try:
                    yield ray.get(answer)
                except RayTaskError:
                    raise  # An error of ``work`` itself, which reports those that it expects.
                except RayError as error:
                    why = _one_line(error)
                    if isinstance(error, OutOfMemoryError) or item in retried:
                        yield lost(item, why)
                        continue
                    print(f"nmrgcl: a worker died ({why}); computing {name(item)} again", file=sys.stderr)
                    again.append(item)
                    retried.append(item)
    finally:
        for answer in running:
            ray.cancel(answer, force=True)


def _taken(items: list[Item]) -> Iterator[Item]:
    while items:
        yield items.pop(0)


def _one_line(error: object) -> str:
    return printable(" ".join(str(error).split()))[:200].partition(". ")[0]
