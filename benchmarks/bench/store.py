"""Molecule-sized graphs on disk: opening a store and gathering random batches, on one thread.

The graphs are drawn from a sample of distinct ones. The peer is PyG's DataLoader on that sample in memory.
"""

import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from bench import geometric
from bench.memory import resident_bytes
from bench.molecules import SAMPLE, drawn, molecules
from bench.table import Row
from bench.timing import row
from nmrgcl.errors import DataError
from nmrgcl.store import MANIFEST, open_store, write_store
from nmrgcl.store.manifest import read_manifest

BATCH = 1024


def store_rows(graphs: int = 200_000, *, repeats: int = 7, folder: Path | None = None) -> list[Row]:
    """Rows for a temporary store of ``graphs`` graphs in ``folder`` or in the default temporary folder."""
    with written(graphs, folder) as place:
        facts = measure(place, rounds=repeats, steps=min(100, graphs // BATCH + 1))
        peer = peer_costs(min(graphs, SAMPLE), repeats) if geometric.installed() else None
    return [
        row(f"{graphs:,} graphs: open", "ms", [facts["open, s"]], scale=1e3),
        row(f"{graphs:,} graphs: on disk", "B a graph", [facts["bytes a graph"]]),
        row(f"{graphs:,} graphs: gather, to PyG", "CPU us a graph", facts["costs"], peer, scale=1e6),
    ]


@contextmanager
def written(graphs: int, folder: Path | None = None) -> Iterator[Path]:
    """A store that exists as long as the context lasts."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        path = Path(place) / "s"
        # A separate process, so that the memory needed for writing is not counted.
        writer = multiprocessing.get_context("spawn").Process(target=_write, args=(path, graphs))
        writer.start()
        writer.join()
        if writer.exitcode:
            raise DataError(f"{place}: writing a store of {graphs} graphs failed; make room or choose another folder")
        yield path


def measure(folder: Path, *, rounds: int = 6, steps: int = 100) -> dict[str, Any]:
    """Facts about the store in ``folder``.

    ``costs`` are CPU-seconds per graph, one for each round of ``steps`` batches. The first round
    also reads the pages from disk, so it is reported separately.
    """
    before, began = resident_bytes(), time.perf_counter()
    store = open_store(folder)
    opened = time.perf_counter() - began
    after_open = resident_bytes()
    generator = torch.Generator().manual_seed(2)
    parts = torch.randint(0, len(store), (rounds + 1, steps, BATCH), generator=generator)
    first, *costs = (cost(store.take(index) for index in part) for part in parts)
    after_batches = resident_bytes()
    counts = read_manifest(folder / MANIFEST)
    return {
        "graphs": len(store),
        "nodes a graph": counts["nodes"] / len(store),
        "directed edges a graph": counts["edges"] / len(store),
        "bytes a graph": sum(p.stat().st_size for p in folder.iterdir()) / len(store),
        "open, s": opened,
        "RSS growth on opening, MB": (after_open[0] - before[0]) / 1e6,
        "RSS growth with batches, MB": (after_batches[0] - before[0]) / 1e6,
        "of it not mapped files, MB": (after_batches[1] - before[1]) / 1e6,
        "graphs per CPU-s": 1 / statistics.median(costs),
        "graphs per CPU-s, first round": 1 / first,
        "costs": costs,
    }


def peer_costs(sample: int = SAMPLE, repeats: int = 5) -> list[float]:
    """CPU-seconds per graph of PyG's loader on ``sample`` graphs."""
    from torch_geometric.loader import DataLoader

    from nmrgcl.data.conversions import to_pyg

    loader = DataLoader(to_pyg(molecules(sample)).to_data_list(), BATCH, shuffle=True)
    cost(loader)
    return [cost(loader) for _ in range(repeats)]


def cost(batches: Iterable[Any]) -> float:
    """CPU-seconds per graph."""
    count, began = 0, time.process_time()
    for batch in batches:
        count += batch.num_graphs
    return (time.process_time() - began) / count


def _write(folder: Path, graphs: int) -> None:
    torch.set_num_threads(1)
    write_store(folder, drawn(molecules(min(graphs, SAMPLE)), graphs))
