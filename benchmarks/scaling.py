"""A model of time and bytes per training step on many ranks, fitted to ``benchmarks/ranks.py``; see docs/scaling.md.

    python benchmarks/scaling.py [--plot benchmarks/results/scaling.svg] [--json]

It first reproduces the measured CPU seconds of 1 to 4 ranks (``results/ranks.json``), and predicts those of 4 ranks
from the others. With the figures of one H200 it then predicts up to 1,024 GPUs; links and disks are assumptions.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib import rc_context
from matplotlib.ticker import NullFormatter
from scipy.optimize import nnls

from bench.molecules import bonded_molecules
from bench.scale import molecule_settings
from bench.script import script_parser
from nmrgcl.methods import build_pretraining
from nmrgcl.report.svg import PALETTE, STYLE, new_figure, write_figure

RESULTS = Path(__file__).parent / "results"
WORD = 4
GPUS = (1, 2, 4, 8, 16, 64, 256, 1024)
LIBRARIES = (10**6, 10**7, 10**8, 10**9)
ENOUGH = 0.95
"""A batch stops paying where this share of the best throughput is reached."""


@dataclass(frozen=True)
class Model:
    """What the traffic depends on; ``width`` is that of an embedding, and ``views`` of them are gathered."""

    layers: int
    units: int
    width: int
    parameters: int
    views: int = 2


@dataclass(frozen=True)
class Machine:
    """Costs of a step in milliseconds; links and disks, which are assumptions, in GB/s and microseconds.

    ``graph`` and ``pair`` are the costs of a graph and of comparing two. A step of several
    ranks takes at least ``launch``, because it is not recorded and the host launches its kernels one by one.
    """

    graph: float
    pair: float
    launch: float
    per_node: int = 8
    near_gb: float = 300.0
    far_gb: float = 40.0
    near_us: float = 10.0
    far_us: float = 20.0
    disk_gb: float = 2.0
    bytes_per_graph: float = 157.0


def traffic(model: Model, ranks: int, batch: int) -> dict[str, int]:
    """Bytes that a rank hands to collective operations in a step: the formula of docs/scaling.md."""
    if ranks == 1:
        return dict.fromkeys(("embeddings", "statistics", "gradients", "numbers"), 0)
    return {
        "embeddings": model.views * (1 + ranks) * -(-batch // ranks) * model.width * WORD,
        "statistics": 2 * model.layers * (4 * model.units + 1) * WORD,
        "gradients": model.parameters * WORD,
        "numbers": WORD,
    }


def step_ms(machine: Machine, model: Model, ranks: int, batch: int) -> dict[str, float]:
    """The parts of a step and their ``total``; reading overlaps with all of it, reducing with half of the computing."""
    own = -(-batch // ranks)
    compute = own * machine.graph + own * batch * machine.pair
    if ranks > 1:
        compute = max(compute, machine.launch)
    nodes = -(-ranks // machine.per_node)
    near = math.log2(min(ranks, machine.per_node)) * machine.near_us / 1e3
    latency = near + math.log2(nodes) * machine.far_us / 1e3
    speed = 1e6 * (machine.far_gb if nodes > 1 else machine.near_gb)  # bytes per millisecond
    others, sent = ranks - 1, traffic(model, ranks, batch)
    gather = 2 * model.views * (latency + others * own * model.width * WORD / speed)  # Forwards and backwards.
    statistics = 2 * model.layers * latency + 2 * others / ranks * sent["statistics"] / speed
    reduce = latency + 2 * others / ranks * sent["gradients"] / speed
    read = min(ranks, machine.per_node) * own * machine.bytes_per_graph / (1e6 * machine.disk_gb)
    busy = compute + gather + statistics + max(0.0, reduce - compute / 2) + latency
    parts = {"compute": compute, "gather": gather, "statistics": statistics, "reduce": reduce, "input": read}
    return {**parts, "total": max(busy, read)}


# ---- calibration on a CPU

NAMES = ("step", "graph", "pair of graphs", "doubling of the ranks")
LARGEST = 1024
"""Graphs per rank up to which the model holds; a process with 2,048 graphs was out of line, and much slower."""


def features(ranks: int, batch: int) -> list[float]:
    """What the CPU milliseconds of a rank are linear in."""
    own = -(-batch // ranks)
    return [1.0, own, own * batch, math.log2(ranks)]


def fitted(points: Sequence[dict[str, Any]]) -> np.ndarray:
    """Non-negative coefficients with the least squares of relative errors."""
    rows = np.array([features(p["ranks"], p["batch"]) for p in points])
    measured = np.array([p["least_cpu_ms"] for p in points])
    found: np.ndarray = nnls(rows / measured[:, None], np.ones(len(points)))[0]
    return found


def errors(points: Sequence[dict[str, Any]], coefficients: np.ndarray) -> list[float]:
    """Relative errors of the model, by point."""
    return [float(np.dot(features(p["ranks"], p["batch"]), coefficients) / p["least_cpu_ms"] - 1) for p in points]


def calibrate() -> dict[str, Any]:
    """Fit all measured points, and predict those of 4 ranks from the others."""
    points = [p for p in measured() if p["batch"] <= LARGEST * p["ranks"]]
    coefficients = fitted(points)
    held, rest = [p for p in points if p["ranks"] == 4], [p for p in points if p["ranks"] != 4]
    rows = [
        {"ranks": p["ranks"], "batch": p["batch"], "measured_ms": p["least_cpu_ms"], "error": error}
        for p, error in zip(points, errors(points, coefficients), strict=True)
    ]
    return {
        "points": rows,
        "coefficients": dict(zip(NAMES, coefficients.tolist(), strict=True)),
        "worst": max(abs(row["error"]) for row in rows),
        "worst_of_4_from_1_to_3": max(abs(error) for error in errors(held, fitted(rest))),
    }


def measured() -> list[dict[str, Any]]:
    """The points that ``benchmarks/ranks.py`` found."""
    points: list[dict[str, Any]] = json.loads((RESULTS / "ranks.json").read_text())["points"]
    return points


# ---- many GPUs


def h200() -> tuple[Machine, Model]:
    """One H200: its step and its loss as measured, and the time in which the host launches the step of a rank."""
    model = built(torch.device("cuda"))
    graph = next(row["value"] for row in _rows("h200_scale.json") if row["name"].endswith("bf16: a molecule")) / 1e3
    plain = next(row["peer"] for row in _rows("h200_loss.json") if row["name"] == "N = 8192, D = 512: time, to plain")
    pair = plain / 8192**2 * model.width / 512  # That measurement has rows of 512 numbers.
    graph -= 1024 * pair  # It was measured in batches of 1,024, comparisons included.
    launch = min(row["ms"] for row in _rows("h200_ranks.json") if "exchanges" in row["form"])
    return Machine(graph, pair, launch), model


def _rows(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((RESULTS / name).read_text())["rows"]
    return rows


def built(device: torch.device) -> Model:
    """The model that ``benchmarks/ranks.py`` trains on ``device``, which need not exist here."""
    settings = molecule_settings(device)
    method = build_pretraining(settings, bonded_molecules(2).num_features)
    parameters = sum(p.numel() for p in method.parameters())
    return Model(settings.encoder.layers, settings.encoder.units, method.encoder.units, parameters)


def predict() -> dict[str, Any]:
    """A step with the largest batch that pays, for each number of GPUs, and epochs over libraries."""
    machine, model = h200()
    rows: list[dict[str, Any]] = []
    for gpus in GPUS:
        batch = largest_that_pays(machine, model, gpus)
        parts = step_ms(machine, model, gpus, batch)
        speed = batch / parts["total"]
        rows.append(
            {
                "gpus": gpus,
                "batch": batch,
                "bytes": sum(traffic(model, gpus, batch).values()),
                "ms": parts,
                "graphs_per_ms": speed,
                "efficiency": speed / (gpus * rows[0]["graphs_per_ms"]) if rows else 1.0,
                "graphs_per_ms_of_1024_per_gpu": 1024 * gpus / step_ms(machine, model, gpus, 1024 * gpus)["total"],
                "seconds_per_epoch": {str(graphs): graphs / speed / 1e3 for graphs in LIBRARIES},
            }
        )
    return {"machine": vars(machine), "model": vars(model), "rows": rows}


def largest_that_pays(machine: Machine, model: Model, gpus: int) -> int:
    """The smallest batch that comes close to the best throughput of any batch."""
    sizes = [2**power for power in range(10, 22) if 2**power >= gpus]  # One GPU was measured with 1,024.
    speeds = [size / step_ms(machine, model, gpus, size)["total"] for size in sizes]
    return next(size for size, speed in zip(sizes, speeds, strict=True) if speed >= ENOUGH * max(speeds))


def show(results: dict[str, Any]) -> None:
    known, ahead = results["calibration"], results["prediction"]
    print(f"{'batch':>6} {'ranks':>5} {'CPU ms':>8} {'model':>8} {'error %':>8}")
    for row in sorted(known["points"], key=lambda row: (row["batch"], row["ranks"])):
        found, error = row["measured_ms"], row["error"]
        print(f"{row['batch']:>6} {row['ranks']:>5} {found:>8.2f} {found * (1 + error):>8.2f} {100 * error:>8.1f}")
    print(f"worst {100 * known['worst']:.1f} %; 4 ranks from 1 to 3: {100 * known['worst_of_4_from_1_to_3']:.1f} %\n")
    columns = ["GPUs", "batch", "MB per step", "compute ms", "gather ms", "statistics ms", "reduce ms", "step ms"]
    columns += ["graphs per s", "efficiency", "epoch of 10⁶", "10⁷", "10⁸", "10⁹ graphs"]
    print(f"| {' | '.join(columns)} |\n|{'---:|' * len(columns)}")
    for row in ahead["rows"]:
        ms = [f"{row['ms'][part]:.2f}" for part in ("compute", "gather", "statistics", "reduce", "total")]
        times = [_duration(seconds) for seconds in row["seconds_per_epoch"].values()]
        sizes = [f"{row['gpus']:,}", f"{row['batch']:,}", f"{row['bytes'] / 1e6:.1f}"]
        cells = [*sizes, *ms, f"{1e3 * row['graphs_per_ms']:,.0f}", f"{row['efficiency']:.2f}", *times]
        print(f"| {' | '.join(cells)} |")


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.2g} min" if seconds < 6000 else f"{seconds / 3600:.2g} h"


@rc_context(STYLE)
def plot(found: dict[str, Any], path: Path) -> None:
    """Measured and modelled CPU milliseconds of a step, and throughput over the number of GPUs."""
    figure, (known, ahead) = new_figure(width=7.5, height=3.0, columns=2)
    points = found["calibration"]["points"]
    for number, batch in enumerate(sorted({p["batch"] for p in points})):
        of = [p for p in points if p["batch"] == batch]
        ranks, colour = [p["ranks"] for p in of], PALETTE[number % len(PALETTE)]
        known.plot(ranks, [p["measured_ms"] for p in of], "o", markersize=4, label=f"batch {batch:,}", color=colour)
        known.plot(ranks, [p["measured_ms"] * (1 + p["error"]) for p in of], "-", color=colour)
    known.set(yscale="log", xlabel="ranks", ylabel="CPU ms of a rank per step", xticks=[1, 2, 3, 4])
    known.set(ylim=(10, 1000))  # With room for the legend.
    rows = found["prediction"]["rows"]
    gpus = [row["gpus"] for row in rows]
    ahead.plot(gpus, [n * rows[0]["graphs_per_ms"] * 1e3 for n in gpus], ":", color="grey", label="linear")
    for name, label, colour in (
        ("graphs_per_ms", "largest batch that pays", PALETTE[0]),
        ("graphs_per_ms_of_1024_per_gpu", "1,024 graphs per GPU", PALETTE[1]),
    ):
        ahead.plot(gpus, [row[name] * 1e3 for row in rows], "o-", markersize=3, color=colour, label=label)
    ahead.set(xscale="log", yscale="log", xlabel="GPUs (model)", ylabel="graphs per second")
    for axes in (known, ahead):
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter("{x:,.9g}")  # Plain numbers, because STYLE disables mathematical text.
            axis.set_minor_formatter(NullFormatter())
        axes.legend(fontsize=7, loc="upper left" if axes is ahead else "upper right", ncols=1 if axes is ahead else 2)
    write_figure(figure, path, dpi=150, facecolor="white")


def main() -> None:
    parser = script_parser(__doc__)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    found = {"calibration": calibrate(), "prediction": predict()}
    if arguments.plot:
        plot(found, arguments.plot)
    if arguments.json:
        print(json.dumps(found))
    else:
        show(found)


if __name__ == "__main__":
    main()
