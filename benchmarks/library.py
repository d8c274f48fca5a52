"""Ten million molecule-sized graphs, written, opened, split, verified, merged and trained from, on one thread.

    python benchmarks/library.py [--graphs 10000000] [--shards 16] [--steps 200] [--folder PLACE] [--json]

Every stage is a process of its own. Its memory is the peak in addition to what was used before, without mapped files,
whose pages the system can drop at any time. The stores take 157 bytes per graph, three times over.
"""

import argparse
import json
import multiprocessing
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

from bench.memory import watched
from bench.molecules import SAMPLE, drawn, molecules
from bench.scale import molecule_settings
from nmrgcl.data.library import stores_of
from nmrgcl.data.shards import merge_stores, require_belonging, shard_store, verify_store
from nmrgcl.methods import build_method
from nmrgcl.store import open_store, write_store
from nmrgcl.train import pretrain

CHUNK = 16_384


class Enough(Exception):
    """Training has made as many steps as were asked for."""


def write(place: Path, graphs: int, shards: int, steps: int) -> int:
    write_store(place / "store", drawn(molecules(min(graphs, SAMPLE)), graphs))
    return graphs


def open_(place: Path, graphs: int, shards: int, steps: int) -> int:
    return len(open_store(place / "store"))


def shard(place: Path, graphs: int, shards: int, steps: int) -> int:
    shard_store(place / "store", place / "library", shards)
    return graphs


def verify(place: Path, graphs: int, shards: int, steps: int) -> int:
    found = [verify_store(folder) for folder in stores_of(place / "library")]
    require_belonging(found, "library")
    return sum(facts.graphs for facts in found)


def merge(place: Path, graphs: int, shards: int, steps: int) -> int:
    merged = merge_stores(stores_of(place / "library"), place / "merged")
    if merged.digests != open_store(place / "store").digests:
        raise SystemExit("the merged store differs from the one that was split")
    return len(merged)


def train(place: Path, graphs: int, shards: int, steps: int) -> int:
    """Train on chunks of the store for ``steps`` batches."""
    store = open_store(place / "store")
    settings = molecule_settings(torch.device("cpu")).updated({"chunk_graphs": CHUNK, "encoder.name": "gin"})
    done = 0

    def count(*_: Any) -> None:
        nonlocal done
        done += 1
        if done == steps:
            raise Enough

    try:
        for _ in pretrain(build_method(settings, store.num_features), store, settings.train, watch=count):
            pass
    except Enough:
        pass
    return done * settings.train.batch_size


STAGES: dict[str, Callable[[Path, int, int, int], int]] = {
    "write": write, "open": open_, "shard": shard, "verify": verify, "merge": merge, "train": train
}  # fmt: skip


def measured(stage: str, sender: Connection, *arguments: Any) -> None:
    torch.set_num_threads(1)
    began = time.process_time()
    with watched() as watch:
        count = STAGES[stage](*arguments)
    sender.send({"graphs": count, "CPU s": time.process_time() - began, "peak MB": watch.peak / 1e6})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--graphs", type=int, default=10_000_000)
    parser.add_argument("--shards", type=int, default=16)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--folder", type=Path, help="where to write the stores (default: a temporary folder)")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    spawn, rows = multiprocessing.get_context("spawn"), {}
    if not arguments.json:
        print(
            f"{arguments.graphs:,} graphs\n{'stage':<8} {'graphs':>11} {'CPU s':>8} {'graphs/CPU-s':>13} {'peak MB':>8}"
        )
    with tempfile.TemporaryDirectory(dir=arguments.folder) as place:
        for stage in STAGES:
            receiver, sender = spawn.Pipe(duplex=False)
            given = (Path(place), arguments.graphs, arguments.shards, arguments.steps)
            process = spawn.Process(target=measured, args=(stage, sender, *given))
            process.start()
            sender.close()
            try:
                row = rows[stage] = receiver.recv()
            except EOFError:
                raise SystemExit(f"{stage}: failed, see above") from None
            process.join()
            if not arguments.json:
                rate = f"{row['graphs'] / row['CPU s']:>13,.0f}"
                print(f"{stage:<8} {row['graphs']:>11,} {row['CPU s']:>8.2f} {rate} {row['peak MB']:>8.0f}", flush=True)
        size = sum(path.stat().st_size for path in (Path(place) / "store").iterdir())
    facts = {"graphs": arguments.graphs, "shards": arguments.shards, "bytes a graph": size / arguments.graphs}
    if arguments.json:
        print(json.dumps({**facts, "threads": 1, "torch": torch.__version__, "stages": rows}))
    else:
        print(f"{facts['bytes a graph']:.1f} bytes per graph on disk")


if __name__ == "__main__":
    main()
