"""An exported program next to its model: the same embeddings, and how long they take on one core."""

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from nmrgcl.evaluate.normalise import normalised
from nmrgcl.graphs import Graphs
from nmrgcl.model_folder import Model
from nmrgcl.train.feed import Source

Run = Callable[[dict[str, Tensor]], Tensor]
"""Calls an exported program."""
SIZES = (8, 1, 32, 512)
"""Graphs of the batches that are compared; the first of them is the program's example."""
SECONDS, FEWEST = 0.2, 5
"""How long each measurement is repeated, and how often at least."""


@dataclass(frozen=True)
class Latency:
    """Median milliseconds for a batch."""

    graphs: int
    nodes: int
    edges: int
    eager: float
    exported: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def batches(graphs: Source, level: str) -> list[Graphs]:
    """Batches of different sizes: of graphs; or the graph, and half of its nodes. The last has no edges at all."""
    if level == "node":
        whole = graphs if isinstance(graphs, Graphs) else graphs.take(torch.arange(len(graphs)))
        half = whole.keep_nodes(torch.arange(whole.num_nodes) < (whole.num_nodes + 1) // 2).compact()
        parts = [whole, half]
    else:
        sizes = dict.fromkeys(min(size, len(graphs)) for size in SIZES)
        parts = [graphs.take(torch.linspace(0, len(graphs) - 1, size).long()) for size in sizes]
    last = parts[-1]
    return [*parts, last.keep_edges(torch.zeros(last.num_edges, dtype=torch.bool)).compact()]


@torch.no_grad()
def largest_difference(model: Model, graphs: Graphs, z: Tensor) -> float:
    """Between the model's own embeddings and ``z``, as a share of the largest value."""
    own = torch.from_numpy(normalised(model.method.embed(graphs).numpy(), model.normalise, model.columns))
    if own.shape != z.shape:
        return float("inf")
    return float((own - z).abs().max() / own.abs().max().clamp(min=1e-30)) if own.numel() else 0.0


def latencies(model: Model, asked: list[tuple[Graphs, dict[str, Tensor]]], run: Run) -> list[Latency]:
    """The smallest batch first; the model is given graphs that are ready, without what it remembers of them."""
    found = []
    with _one_thread(), torch.no_grad():
        for graphs, inputs in sorted(asked, key=lambda one: one[0].num_nodes):
            eager = _milliseconds(partial(_embed_anew, model, graphs))
            exported = _milliseconds(partial(run, inputs))
            found.append(Latency(graphs.num_graphs, graphs.num_nodes, graphs.num_edges, eager, exported))
    return found


def _embed_anew(model: Model, graphs: Graphs) -> Tensor:
    # A copy, because graphs keep what has been computed from them, such as the matrix of a GCN.
    return model.method.embed(replace(graphs))


def _milliseconds(work: Callable[[], object]) -> float:
    # The first call may compile or allocate, and is not measured.
    work()
    seconds: list[float] = []
    while len(seconds) < FEWEST or sum(seconds) < SECONDS:
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return 1000 * statistics.median(seconds)


@contextmanager
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
