"""Training epochs over increasing numbers of molecule-sized graphs, all on the device or in chunks.

The graphs are in a store on disk and are drawn from a sample of distinct ones. On a GPU, the model is the molecular GIN
with 5 × 300 units, in batches of 1,024 and bfloat16; on a CPU, it is a small one that finishes in reasonable time.
"""

import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench.floor import floor_seconds
from bench.memory import watched
from bench.molecules import SAMPLE, bonded_molecules, drawn
from bench.table import Row
from bench.timing import now, row
from nmrgcl.graphs import Graphs
from nmrgcl.methods import build_method
from nmrgcl.settings import Settings, resolve
from nmrgcl.store import open_store, write_store
from nmrgcl.train import pretrain
from nmrgcl.train.feed import Source
from nmrgcl.train.feed.choose import usual_chunk

SMALLEST = 1000
LONG = 3.0
"""If the first epoch takes longer than this many seconds, only one more is measured."""
CHUNKS = 4
"""The minimum number of chunks, whatever their usual size."""
STEPS = 16
"""The number of batches of the epochs in which single steps are measured."""


@dataclass(frozen=True)
class Point:
    """The cost of an epoch over ``graphs`` graphs; bytes are the peak in addition to what was used before."""

    kind: str
    graphs: int
    seconds: list[float]
    device_bytes: int
    host_bytes: int


def scale_rows(
    most: int, *, device: torch.device, repeats: int = 3, folder: Path | None = None
) -> tuple[list[Row], list[Point]]:
    """Rows for 1,000 … ``most`` graphs, written to ``folder``, and the points for a plot."""
    settings, sample = molecule_settings(device), bonded_molecules(min(most, SAMPLE))
    rows = _step_rows(sample, settings, device, repeats)  # First, because this also warms up libraries and kernels.
    points: list[Point] = []
    for size in sizes_up_to(most):
        with tempfile.TemporaryDirectory(dir=folder) as place:
            write_store(Path(place) / "store", drawn(sample, size))
            points += _points(open_store(Path(place) / "store"), settings, device, repeats)
    for point in points:
        rows += _rows_of(point, points, device)
    for kind in ("resident", "chunks"):
        if (power := exponent([p for p in points if p.kind == kind], settings.train.batch_size)) is not None:
            rows.append(row(f"{kind}: time grows with this power of the graphs", "", [power]))
    return rows, points


def sizes_up_to(most: int) -> list[int]:
    """Powers of ten from 1,000 to well below ``most``, and ``most`` itself."""
    return sorted({size for n in range(10) if (size := SMALLEST * 10**n) < most / 2} | {most})


def exponent(points: Sequence[Point], batch_size: int) -> float | None:
    """The slope of log seconds over log graphs, for points with several batches; 1 is linear growth."""
    enough = [point for point in points if point.graphs >= 4 * batch_size]
    if len(enough) < 2:
        return None
    graphs, seconds = [p.graphs for p in enough], [float(np.median(p.seconds)) for p in enough]
    return float(np.polyfit(np.log(graphs), np.log(seconds), 1)[0])


def molecule_settings(device: torch.device) -> Settings:
    model: dict[str, Any] = {"layers": 2, "encoder.units": 32, "batch_size": 128}
    if device.type == "cuda":
        model = {"layers": 5, "encoder.units": 300, "batch_size": 1024, "precision": "bf16"}
    settings = resolve("graphcl").updated({"encoder.name": "molecule", "pool": "mean", "epochs": 10**6, **model})
    three = settings.to_dict()["views"]["first"][:3]  # DropNodes, DropEdges, DropFeatures
    return settings.updated({"views.first": three, "views.second": three})


def _step_rows(sample: Graphs, settings: Settings, device: torch.device, repeats: int) -> list[Row]:
    """A step on graphs that are already on the device, compared with its floor."""
    size = settings.train.batch_size
    graphs = sample.take(torch.arange(STEPS * size) % len(sample))
    seconds, _ = _epochs(graphs, settings, device, 1 + repeats, long=math.inf)
    costs = [value / STEPS for value in seconds[1:]]
    encoder = settings.encoder
    dtype = torch.bfloat16 if settings.train.precision == "bf16" else torch.float32
    nodes = graphs.num_nodes // STEPS
    floor = [floor_seconds(nodes, layers=encoder.layers, units=encoder.units, dtype=dtype, device=device)]
    name = f"{encoder.layers} × {encoder.units} molecular GIN, batch {size:,}, {settings.train.precision}"
    return [
        row(f"{name}: step, to floor", "ms", costs, floor, scale=1e3),
        row(f"{name}: a molecule", "us", costs, scale=1e6 / size),
    ]


def _points(store: Source, settings: Settings, device: torch.device, repeats: int) -> list[Point]:
    size, batch = len(store), settings.train.batch_size
    chunk = max(1, min(usual_chunk(store), size // CHUNKS) // batch) * batch
    # A chunk size of all graphs means that they are resident.
    kinds = {"resident": size} | ({"chunks": chunk} if chunk < size else {})
    found = []
    for kind, number in kinds.items():
        with watched() as watch:
            chosen = settings.updated({"chunk_graphs": number})
            seconds, device_bytes = _epochs(store, chosen, device, 1 + repeats)
        found.append(Point(kind, size, seconds[1:], device_bytes, watch.peak))
    return found


def _epochs(
    graphs: Source, settings: Settings, device: torch.device, count: int, *, long: float = LONG
) -> tuple[list[float], int]:
    """Seconds of ``count`` successive epochs, or of two if the first is ``long``, and the device's peak bytes."""
    before = _device_bytes(device)
    method = build_method(settings, graphs.num_features).to(device)
    epochs = pretrain(method, graphs, settings.train, device=device)
    seconds: list[float] = []
    while len(seconds) < count and not (len(seconds) > 1 and seconds[0] > long):
        began = now(device)
        next(epochs)
        seconds.append(now(device) - began)
    epochs.close()  # type: ignore[attr-defined]
    return seconds, torch.cuda.max_memory_allocated(device) - before if device.type == "cuda" else 0


def _device_bytes(device: torch.device) -> int:
    """The bytes in use now; the peak is measured from here on."""
    if device.type != "cuda":
        return 0
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    return torch.cuda.memory_allocated(device)


def _rows_of(point: Point, points: Sequence[Point], device: torch.device) -> list[Row]:
    name = f"{point.graphs:,} graphs, {point.kind}"
    peer = next((p.seconds for p in points if p.graphs == point.graphs and p.kind == "resident"), None)
    rows = [row(f"{name}: epoch", "s", point.seconds)]
    if point.kind == "chunks":
        rows = [row(f"{name}: epoch, to resident", "s", point.seconds, peer)]
    rows.append(row(f"{name}: a graph", "us", point.seconds, scale=1e6 / point.graphs))
    if device.type == "cuda":
        rows.append(row(f"{name}: memory of the device", "MB", [point.device_bytes], scale=1e-6))
    if point.host_bytes:
        rows.append(row(f"{name}: memory of the host", "MB", [point.host_bytes], scale=1e-6))
    return rows
