"""Two million molecule-sized graphs on disk: opening them, and gathering batches at random, on one thread.

    python benchmarks/store.py [--graphs 2000000] [--folder PLACE] [--json]

The graphs (24 nodes and 50 directed edges on average) are drawn from 20,000 different ones, each a random tree with a
few rings, with a categorical feature. The peer: PyG's DataLoader on those 20,000, which it holds in memory.
"""

import argparse
import json
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from nmrgcl.data.conversions import to_pyg
from nmrgcl.graphs import Graphs
from nmrgcl.store import open_store, write_store

BATCH = 1024
SAMPLE = 20_000


def molecules(count: int) -> Graphs:
    generator = torch.Generator().manual_seed(0)
    sizes = torch.randint(14, 35, (count,), generator=generator)
    node_ptr = torch.nn.functional.pad(sizes.cumsum(0), (1, 0))
    graph = torch.repeat_interleave(sizes)
    local = torch.arange(len(graph)) - node_ptr[graph]
    back = 1 + (torch.rand(len(graph), generator=generator) ** 3 * 3).long()
    tree = torch.stack([torch.arange(len(graph)), torch.arange(len(graph)) - torch.minimum(back, local)])[:, local > 0]
    first = (torch.rand(count, 2, generator=generator) * (sizes[:, None] - 6)).long() + node_ptr[:-1, None]
    rings = torch.stack([first + 5, first]).flatten(1)
    pairs = torch.unique(torch.cat([tree, rings], 1), dim=1)
    x = torch.randint(0, 30, (len(graph), 1), generator=generator)
    y = torch.randint(0, 2, (count,), generator=generator)
    return Graphs.build(torch.cat([pairs, pairs.flip(0)], 1), node_ptr, x=x, num_features=30, y=y)


def write(folder: Path, count: int) -> None:
    torch.set_num_threads(1)
    drawn = torch.randint(0, SAMPLE, (count,), generator=torch.Generator().manual_seed(1))
    write_store(folder, molecules(SAMPLE).take(drawn))


def resident() -> tuple[int, int]:
    """Bytes of memory in use: in all, and without mapped files, whose pages the system can drop at any time."""
    _, total, mapped, *_ = (int(n) * os.sysconf("SC_PAGE_SIZE") for n in Path("/proc/self/statm").read_text().split())
    return total, total - mapped


def rate(batches: Iterable[Any]) -> float:
    """Graphs per CPU-second."""
    count, began = 0, time.process_time()
    for batch in batches:
        count += batch.num_graphs
    return count / (time.process_time() - began)


def measure(folder: Path) -> dict[str, Any]:
    before, began = resident(), time.perf_counter()
    store = open_store(folder)
    opened = time.perf_counter() - began
    after_open = resident()
    generator = torch.Generator().manual_seed(2)
    rounds = torch.randint(0, len(store), (7, 100, BATCH), generator=generator)
    first, *rates = (rate(store.take(part) for part in parts) for parts in rounds)
    median = statistics.median(rates)
    after_batches = resident()
    size = sum(p.stat().st_size for p in folder.iterdir())
    counts = json.loads((folder / "manifest.json").read_text())
    peer = peer_rate()
    return {
        "graphs": len(store),
        "nodes a graph": counts["nodes"] / len(store),
        "directed edges a graph": counts["edges"] / len(store),
        "bytes a graph": size / len(store),
        "open, s": opened,
        "RSS growth on opening, MB": (after_open[0] - before[0]) / 1e6,
        "RSS growth with batches, MB": (after_batches[0] - before[0]) / 1e6,
        "of it not mapped files, MB": (after_batches[1] - before[1]) / 1e6,
        "graphs per CPU-s": median,
        "graphs per CPU-s, first round": first,
        "PyG graphs per CPU-s": peer,
        "ratio": median / peer,
    }


def peer_rate() -> float:
    from torch_geometric.loader import DataLoader

    loader = DataLoader(to_pyg(molecules(SAMPLE)).to_data_list(), BATCH, shuffle=True)
    rate(loader)
    return statistics.median(rate(loader) for _ in range(5))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--graphs", type=int, default=2_000_000)
    parser.add_argument("--folder", type=Path, help="where to write the store; a temporary folder unless given")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as place:
        # In a process of its own, so that what writing needed is not counted.
        writer = multiprocessing.get_context("spawn").Process(target=write, args=(Path(place) / "s", arguments.graphs))
        writer.start()
        writer.join()
        if writer.exitcode:
            raise SystemExit("writing the store failed")
        row = measure(Path(place) / "s")
    if arguments.json:
        print(json.dumps({"threads": 1, "torch": torch.__version__, **row}))
        return
    for key, value in row.items():
        print(f"{key:<30} {value:,.4g}" if value < 10 else f"{key:<30} {value:,.0f}")


if __name__ == "__main__":
    main()
