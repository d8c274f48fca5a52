"""Training on several ranks: a step of 1 to 4 processes on a CPU, or what DistributedDataParallel adds to one GPU.

    python benchmarks/ranks.py [--ranks 4] [--batches 128 256 512 1024 2048] [--json]
    python benchmarks/ranks.py --one-rank [--device cuda] [--batches 1024 4096] [--json]

The first form starts processes with torchrun and lets the first 1, 2, … of them train in turn, while the others wait;
the batch is divided among them. Wall-clock seconds mean something only if every rank has a core and nothing else runs.
CPU seconds of a rank leave out waiting, so they are the least that a machine with a core for every rank would need.

The second form compares one process alone, recorded as a CUDA graph and not, with one rank of one, whose gradients are
reduced by NCCL (by gloo on a CPU); "exchanges" adds the gather of embeddings and of the statistics of batch norms,
which one rank alone would not need. Both forms train nmrGCL on synthetic molecules, with the model of ``nmrgcl bench
scale``.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import distributed as dist

from bench.molecules import bonded_molecules
from bench.scale import molecule_settings
from bench.script import machine, script_parser
from bench.timing import in_turn, now
from nmrgcl.graphs import Graphs
from nmrgcl.methods import build_method
from nmrgcl.run.ranks import joined_ranks
from nmrgcl.settings import Settings
from nmrgcl.train import Epoch, pretrain
from nmrgcl.train.distributed import Ranks, joined

GRAPHS, STEPS, REPEATS = 2048, 16, 7
QUIET = {"OMP_NUM_THREADS": "1", "TORCH_CPP_LOG_LEVEL": "ERROR"}


@dataclass(frozen=True)
class OneRank(Ranks):
    """A rank that reduces its gradients although there are no others; with ``exchanges`` it also gathers embeddings."""

    exchanges: bool = True

    @property
    def several(self) -> bool:
        return True

    def sharing(self, size: int) -> AbstractContextManager[None]:
        return super().sharing(size) if self.exchanges else nullcontext()


def training(graphs: Graphs, settings: Settings, ranks: Ranks) -> Iterator[Epoch]:
    """Epochs of a training with ``ranks``."""
    torch.manual_seed(0)
    method = build_method(settings, graphs.num_features).to(graphs.device)
    with joined(ranks):
        epochs = pretrain(method, graphs, settings.train)
        first = next(epochs)
    yield first
    yield from epochs


def steps_of(graphs: Graphs, batch: int) -> int:
    return len(graphs) // batch


# ---- several processes on a CPU


def worker(counts: Sequence[int], batches: Sequence[int], out: Path) -> None:
    """What each process that torchrun has started does: rank 0 writes the points to ``out``."""
    cpu = torch.device("cpu")
    graphs, settings = bonded_molecules(GRAPHS), molecule_settings(cpu)
    with joined_ranks() as everyone:
        groups = {count: dist.new_group(list(range(count))) for count in counts if count > 1}
        trainings: dict[tuple[int, int], Iterator[Epoch]] = {}
        points: dict[tuple[int, int], list[dict[str, Any]]] = {}
        for count in counts:
            for batch in batches:
                ranks = Ranks(everyone.rank, count, groups.get(count))
                if everyone.rank < count:
                    trainings[count, batch] = training(graphs, settings.updated({"batch_size": batch}), ranks)
        for repeat in range(1 + REPEATS):  # In turn, so that other load affects all of them.
            for count in counts:
                for batch in batches:
                    dist.barrier()
                    if (own := trainings.get((count, batch))) is None:
                        continue
                    found = _epoch(own, steps_of(graphs, batch), groups.get(count))
                    if everyone.is_first and repeat:
                        points.setdefault((count, batch), []).append(found)
        dist.barrier()
        if everyone.is_first:
            out.write_text(json.dumps([_point(*key, found) for key, found in points.items()]))


def _epoch(training: Iterator[Epoch], steps: int, group: Any) -> dict[str, Any]:
    """Seconds per step: CPU seconds are the mean over ranks, wall-clock seconds those of this one."""
    wall, cpu = time.perf_counter(), time.process_time()
    epoch = next(training)
    used = torch.tensor(time.process_time() - cpu)
    wall = time.perf_counter() - wall
    if group is not None:
        dist.all_reduce(used, group=group)
        used /= dist.get_world_size(group)
    return {"wall": wall / steps, "cpu": float(used) / steps, "bytes": epoch.bytes_per_step}


def _point(count: int, batch: int, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    middle = {f"{kind}_ms": 1e3 * statistics.median(one[kind] for one in found) for kind in ("cpu", "wall")}
    least = {f"least_{kind}_ms": 1e3 * min(one[kind] for one in found) for kind in ("cpu", "wall")}
    return {"ranks": count, "batch": batch, **middle, **least, "bytes_per_step": found[-1]["bytes"]}


def measure_ranks(most: int, batches: Sequence[int]) -> dict[str, Any]:
    """Start the processes and collect what they found."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "points.json"
        torchrun = [
            sys.executable,
            "-m",
            "torch.distributed.run",
            "--standalone",
            "--nproc-per-node",
            str(max(most, 2)),
        ]
        sizes = [str(batch) for batch in batches]
        given = ["--ranks", str(most), "--batches", *sizes, "--worker", str(out)]
        subprocess.run([*torchrun, __file__, *given], check=True, env=os.environ | QUIET)
        points = json.loads(out.read_text())
    alone = {point["batch"]: point for point in points if point["ranks"] == 1}
    for point in points:
        for kind in ("cpu", "wall"):
            name = f"least_{kind}_ms"
            point[f"{kind}_efficiency"] = alone[point["batch"]][name] / (point["ranks"] * point[name])
    return {"points": points, "load": os.getloadavg()[0], "threads": 1}


def show_ranks(found: dict[str, Any]) -> None:
    print(f"load {found['load']:.1f}; milliseconds are the least of {REPEATS} epochs, per step")
    columns = f"{'batch':>6} {'ranks':>5} {'CPU ms':>8} {'wall ms':>8} {'CPU eff.':>8} {'wall eff.':>9}"
    print(f"{columns} {'bytes per step':>15}")
    for p in sorted(found["points"], key=lambda p: (p["batch"], p["ranks"])):
        sent = sum(p["bytes_per_step"].values())
        print(
            f"{p['batch']:>6} {p['ranks']:>5} {p['least_cpu_ms']:>8.2f} {p['least_wall_ms']:>8.2f} "
            f"{p['cpu_efficiency']:>8.2f} {p['wall_efficiency']:>9.2f} {sent:>15,}"
        )


# ---- one process, alone and as one rank of one


@contextmanager
def group_of_one(device: torch.device) -> Iterator[None]:
    """A process group with this process alone, as ``nmrgcl.run.ranks`` would make it."""
    for name in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"):
        os.environ.setdefault(name, "lo")  # The machine may have no network.
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    store = dist.TCPStore("127.0.0.1", 0, 1, is_master=True)
    dist.init_process_group(backend, store=store, rank=0, world_size=1)
    try:
        yield
    finally:
        dist.destroy_process_group()


def measure_one_rank(device: torch.device, batches: Sequence[int]) -> dict[str, Any]:
    """Milliseconds of a step of each form, for each size of a batch."""
    cases = {}
    for batch in batches:
        graphs = bonded_molecules(STEPS * batch).to(device)
        settings = molecule_settings(device).updated({"batch_size": batch})
        cases[batch] = graphs, settings.updated({"capture": False}), training(graphs, settings, Ranks())
        if device.type == "cuda":
            next(cases[batch][2])  # Record before NCCL starts threads of its own.
    rows = []
    with group_of_one(device):
        for batch, (graphs, settings, recorded) in cases.items():
            forms = {
                "alone, recorded": recorded,
                "alone, not recorded": training(graphs, settings, Ranks()),
                "one rank": training(graphs, settings, OneRank(exchanges=False)),
                "one rank with exchanges": training(graphs, settings, OneRank()),
            }
            if device.type != "cuda":
                del forms["alone, recorded"]
            rows += _rows(batch, in_turn({name: _watch(epochs, device) for name, epochs in forms.items()}, REPEATS))
    return {"rows": rows}


def _rows(batch: int, seconds: Mapping[str, Sequence[float]]) -> list[dict[str, Any]]:
    plain, rows = statistics.median(seconds["alone, not recorded"]), []
    for name, values in seconds.items():
        middle, spread = statistics.median(values), max(values) - min(values)
        cost = {"ms": 1e3 * middle / STEPS, "spread_ms": 1e3 * spread / STEPS}
        rows.append({"batch": batch, "form": name, **cost, "overhead_percent": 100 * (middle / plain - 1)})
    return rows


def _watch(epochs: Iterator[Epoch], device: torch.device) -> Callable[[], float]:
    """Seconds of the next epoch; the first call also builds and records."""

    def measure() -> float:
        began = now(device)
        list(islice(epochs, 1))
        return now(device) - began

    return measure


def show_one_rank(found: dict[str, Any]) -> None:
    print(f"{'batch':>6} {'form':<26} {'ms a step':>10} {'spread':>8} {'overhead %':>10}")
    for row in found["rows"]:
        print(
            f"{row['batch']:>6} {row['form']:<26} {row['ms']:>10.3f} {row['spread_ms']:>8.3f} "
            f"{row['overhead_percent']:>10.1f}"
        )


def main() -> None:
    parser = script_parser(__doc__)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--batches", type=int, nargs="+")
    parser.add_argument("--one-rank", action="store_true")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--worker", type=Path, help="what torchrun starts")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.worker:
        worker(range(1, arguments.ranks + 1), arguments.batches, arguments.worker)
        return
    if arguments.one_rank:
        device = torch.device(arguments.device)
        found = measure_one_rank(device, arguments.batches or [1024, 4096])
        show = show_one_rank
    else:
        device = torch.device("cpu")
        found, show = measure_ranks(arguments.ranks, arguments.batches or [128, 256, 512, 1024, 2048]), show_ranks
    if arguments.json:
        print(json.dumps({**found, "machine": machine(device)}))
    else:
        show(found)


if __name__ == "__main__":
    main()
