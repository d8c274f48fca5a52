"""Seconds from a command to the next prompt: start-up, first use, training and judging, each in a fresh process.

    NMRGCL_MIRROR=… python benchmarks/waits.py --json benchmarks/results/waits.json      # half an hour on two cores
    NMRGCL_MIRROR=… python benchmarks/waits.py --only "*NCI1*" "import torch" --device cuda

A cold row has empty caches: of datasets and compiled loops (NMRGCL_HOME), and of the GPU's kernels (TRITON_CACHE_DIR).
A warm row finds what an earlier command left there. The files of Python packages are in the system's cache in both,
because one unmeasured process reads them first. CPU seconds are those of the command and of the processes that it
waited for. A row is the median of up to ``--repeats`` runs, as many as begin within ``--enough`` seconds. A row that
fails or exceeds ``--limit`` is reported as such; the others still run, and the file is written after each row.
"""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from statistics import median
from threading import Timer
from typing import Any

from bench.committed import note_moves
from bench.script import script_parser, write_json

MAKEFILE = Path(__file__).parents[1] / "Makefile"
READ_PACKAGES = """
import json, sys
import networkx, scipy.stats, sklearn.svm, torch._dynamo
from bench.committed import note_moves
from bench.script import machine
print(json.dumps(machine(sys.argv[1])))
"""
TABLE1 = ("PTC_MR", "PROTEINS", "NCI1", "DD", "COLLAB", "IMDB-BINARY", "IMDB-MULTI", "REDDIT-BINARY")
PLACES = {"NMRGCL_HOME": "home", "TRITON_CACHE_DIR": "triton", "CUDA_CACHE_PATH": "cuda"}
EMBEDDER = """
import networkx as nx
from nmrgcl import GraphEmbedder
graphs = [nx.random_regular_graph(3, 10 + 2 * (k % 5), seed=k) for k in range(40)]
print(GraphEmbedder(device="{device}").fit_transform(graphs).shape)
"""


@dataclass(frozen=True)
class Wait:
    """A command with the caches it starts with.

    Attributes:
        name: the name of its row.
        command: as it is typed, in a scratch folder.
        caches: the folder of its caches, which rows may share; without one, the command reads none.
        cold: empty that folder first.
        writes: the run folder that it writes.
        reads: the run folder that it reads.
        code: the exit status that it should have.
    """

    name: str
    command: str
    caches: str = ""
    cold: bool = False
    writes: str = ""
    reads: str = ""
    code: int = 0


def waits(device: str, node_epochs: int) -> list[Wait]:
    """All rows in the order of measurement."""
    python = shlex.quote(sys.executable)
    nmrgcl = f"{python} -m nmrgcl"
    few = f", {node_epochs} epoch{'s' if node_epochs > 1 else ''}"
    found = [
        Wait("import torch", f"{python} -c 'import torch'"),
        Wait("nmrgcl --help", f"{nmrgcl} --help"),
        Wait("a misspelt preset", f"{nmrgcl} pretrain MUTAG --preset zzz", code=2),
        Wait("nmrgcl methods", f"{nmrgcl} methods"),
        Wait("nmrgcl datasets list", f"{nmrgcl} datasets list"),
        Wait("nmrgcl presets", f"{nmrgcl} presets"),
    ]
    for data, seeds, options, note in (
        ("MUTAG", 1, "graphcl", ""),
        ("NCI1", 1, "graphcl", ""),
        ("NCI1", 5, "graphcl", ""),
        ("PubMed", 1, f"node --set epochs={node_epochs}", few),
    ):
        run, label = f"{data}-{seeds}", f"{data}, {seeds} seed{'s' if seeds > 1 else ''}{note}"
        train = f"{nmrgcl} pretrain {data} --preset {options} --seeds {seeds} --device {device} --out {run} --overwrite"
        judge = f"{nmrgcl} evaluate {run} --seeds 1 --device {device}"  # by default, one model is judged on five seeds
        states = {"cold": True, "warm": False} if seeds == 1 else {"warm": False}
        found += [Wait(f"pretrain {label}: {state}", train, data, cold, run) for state, cold in states.items()]
        found += [
            Wait(f"evaluate {label}: {state}", judge, f"{data} judged", cold, reads=run)
            for state, cold in states.items()
        ]
    embed = f"{python} -c {shlex.quote(EMBEDDER.format(device=device))}"
    demo = f"make --silent --file {shlex.quote(str(MAKEFILE))} demo PYTHON={python}"
    for name, command in (("GraphEmbedder, 40 graphs", embed), ("make demo", demo)):
        found += [Wait(f"{name}: {'cold' if cold else 'warm'}", command, name, cold) for cold in (True, False)]
    if device == "cuda":  # On two cores this would take a day.
        data = " ".join(f"--only {name}" for name in TABLE1)
        cells = f"{nmrgcl} reproduce table1 --row nmrGCL --row GraphCL --selection honest {data}"
        found.append(
            Wait("80 cells of Table 1: cold", f"{cells} --results cells --out page --device cuda", "table", True)
        )
    return found


def measure(chosen: Sequence[Wait], every: Sequence[Wait], scratch: Path, args: Any) -> Iterator[dict[str, Any]]:
    """A row for each chosen command; what it needs and no earlier row left is made first."""
    for wait in chosen:
        if wait.reads and not (scratch / wait.reads).exists():
            once(next(other for other in every if other.writes == wait.reads), scratch, args.limit)
        if wait.caches and not wait.cold and not (scratch / "caches" / wait.caches).exists():
            once(wait, scratch, args.limit)
        yield repeated(wait, scratch, args)


def repeated(wait: Wait, scratch: Path, args: Any) -> dict[str, Any]:
    """The row of one command."""
    seconds: list[float] = []
    cpu: list[float] = []
    failed = None
    while not failed and len(seconds) < args.repeats and sum(seconds) < args.enough:
        wall, used, failed = once(wait, scratch, args.limit)
        seconds.append(wall)
        cpu.append(used)
    row = {"name": wait.name, "value": median(seconds), "unit": "s", "cpu": median(cpu), "runs": len(seconds)}
    row["spread"] = max(seconds) - min(seconds)
    return row | ({"failed": failed} if failed else {})


def once(wait: Wait, scratch: Path, limit: float) -> tuple[float, float, str | None]:
    """Wall-clock and CPU seconds of one run, and what went wrong, if anything."""
    caches = scratch / "caches" / (wait.caches or "none")
    if wait.cold:
        shutil.rmtree(caches, ignore_errors=True)
    caches.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {name: str(caches / place) for name, place in PLACES.items()}
    log = scratch / "log"
    with log.open("wb") as out:
        began = time.perf_counter()
        process = subprocess.Popen(
            shlex.split(wait.command),
            cwd=scratch,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
        timer = Timer(limit, os.killpg, (process.pid, signal.SIGKILL))
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        timer.cancel()
    process.returncode = code = os.waitstatus_to_exitcode(status)
    failed = None
    if code != wait.code:
        last = log.read_text(errors="replace").strip().splitlines()[-1:]
        failed = f"stopped after {limit:g} s" if seconds >= limit else f"exit status {code}: {''.join(last)[:200]}"
    return seconds, usage.ru_utime + usage.ru_stime, failed


def main() -> None:
    """Print a line for each row as soon as it is measured."""
    parser = script_parser(__doc__)
    parser.add_argument(
        "--only", nargs="+", default=["*"], metavar="NAME", help="rows by name, or with *, in this order"
    )
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--enough", type=float, default=20.0)
    parser.add_argument("--limit", type=float, default=600.0)
    parser.add_argument("--node-epochs", type=int, default=1, help="epochs of PubMed; its preset has up to 500")
    parser.add_argument("--list", action="store_true", help="only print the commands")
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    every = waits(args.device, args.node_epochs)
    chosen = list(dict.fromkeys(wait for pattern in args.only for wait in every if fnmatch(wait.name, pattern)))
    if args.list:
        print("\n".join(f"{wait.name}\n    {wait.command.strip()}" for wait in chosen))
        return
    # In a process of its own, so that none holds the GPU while rows are measured.
    first = [sys.executable, "-c", READ_PACKAGES, args.device]
    place = json.loads(subprocess.run(first, check=True, stdout=subprocess.PIPE, cwd=Path(__file__).parent).stdout)
    head, rows = "from command to prompt", []
    width = max(len(head), *(len(wait.name) for wait in chosen))
    print(f"{head:<{width}} {'seconds':>9} {'CPU s':>9} {'spread':>8} {'runs':>5}", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        for row in measure(chosen, every, Path(scratch), args):
            rows.append(row)
            line = (
                f"{row['name']:<{width}} {row['value']:>9.2f} {row['cpu']:>9.2f} {row['spread']:>8.2f} {row['runs']:>5}"
            )
            print(f"{line}  {row.get('failed', '')}".rstrip(), flush=True)
            if args.json:
                write_json({"rows": rows, "machine": place}, args.json)
    note_moves({"rows": rows, "machine": place})


if __name__ == "__main__":
    main()
