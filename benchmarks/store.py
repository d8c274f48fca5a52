"""Two million molecule-sized graphs on disk: opening a store and gathering random batches, on one thread.

    python benchmarks/store.py [--graphs 2000000] [--folder PLACE] [--json]

The graphs and the peer are those of ``nmrgcl bench store``, which writes fewer.
"""

import argparse
import json
import statistics
from pathlib import Path

import torch

from bench.store import measure, peer_costs, written
from bench.timing import one_thread


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--graphs", type=int, default=2_000_000)
    parser.add_argument("--folder", type=Path, help="where to write the store (default: a temporary folder)")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with one_thread(), written(arguments.graphs, arguments.folder) as place:
        row = measure(place)
        peer = 1 / statistics.median(peer_costs())
    del row["costs"]
    row |= {"PyG graphs per CPU-s": peer, "ratio": row["graphs per CPU-s"] / peer}
    if arguments.json:
        print(json.dumps({"threads": 1, "torch": torch.__version__, **row}))
        return
    for key, value in row.items():
        print(f"{key:<30} {value:,.4g}" if value < 10 else f"{key:<30} {value:,.0f}")


if __name__ == "__main__":
    main()
