"""SMILES per CPU-second on one core: as one store, in shards, and the shards merged again.

    python benchmarks/smiles_shards.py FILE.smi [--lines 40000] [--shards 16] [--pairs 3] [--json]

Every measurement is a process of its own, bound to one core; the ways alternate. Processor time includes that of the
pass that cuts the file, but not imports.
"""

import argparse
import json
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path

import torch

from nmrgcl.data.library import stores_of
from nmrgcl.data.molecules.lines import cut_lines
from nmrgcl.data.read import import_path
from nmrgcl.data.shards import merge_stores
from nmrgcl.run.import_library import import_library, plan_import


def whole(place: Path, shards: int) -> None:
    import_path(place / "part.smi", place / "whole")


def cut(place: Path, shards: int) -> None:
    cut_lines(place / "part.smi", shards)


def in_shards(place: Path, shards: int) -> None:
    library = place / "library"
    tasks = plan_import(place / "part.smi", library, shards, name=None, strict=False)
    if failed := [one for one in import_library(tasks, library, backend="inline") if one.error]:
        raise SystemExit(failed[0].error)


def merge(place: Path, shards: int) -> None:
    merge_stores(stores_of(place / "library"), place / "merged")


WAYS: dict[str, Callable[[Path, int], None]] = {"one store": whole, "cut": cut, "shards": in_shards, "merge": merge}


def measured(way: str, sender: Connection, place: Path, shards: int) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
    import pyarrow.csv  # noqa: F401
    from rdkit import Chem  # noqa: F401

    began = time.process_time()
    WAYS[way](place, shards)
    sender.send(time.process_time() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--lines", type=int, default=40_000)
    parser.add_argument("--shards", type=int, default=16)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    spawn, times = multiprocessing.get_context("spawn"), {way: list[float]() for way in WAYS}
    with arguments.file.open("rb") as file:
        part = list(islice(file, arguments.lines))
    for _ in range(arguments.pairs):
        with tempfile.TemporaryDirectory() as place:
            (Path(place) / "part.smi").write_bytes(b"".join(part))
            for way in WAYS:
                receiver, sender = spawn.Pipe(duplex=False)
                process = spawn.Process(target=measured, args=(way, sender, Path(place), arguments.shards))
                process.start()
                sender.close()
                times[way].append(receiver.recv())
                process.join()
            names = sorted(path.name for path in (Path(place) / "whole").iterdir())
            if any(
                (Path(place) / "whole" / n).read_bytes() != (Path(place) / "merged" / n).read_bytes() for n in names
            ):
                raise SystemExit("the merged shards differ from the store of the whole file")
    rates = {way: len(part) / statistics.median(found) for way, found in times.items()}
    if arguments.json:
        print(json.dumps({"lines": len(part), "shards": arguments.shards, "CPU s": times, "lines per CPU s": rates}))
        return
    print(f"{len(part):,} lines, {arguments.shards} shards, median of {arguments.pairs}")
    for way, rate in rates.items():
        spread = f"{min(times[way]):.2f} to {max(times[way]):.2f}"
        print(f"{way:<10} {rate:>12,.0f} lines per CPU-second   {spread} CPU s")


if __name__ == "__main__":
    main()
