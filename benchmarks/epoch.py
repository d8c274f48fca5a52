"""One pre-training epoch on the CPU, compared with its floor in the same process on one thread.

    python benchmarks/epoch.py [NCI1 PROTEINS IMDB-BINARY] [--json]
    python benchmarks/epoch.py NCI1 --method graphmae

The floor and the two peers are those of ``nmrgcl bench step``. With ``--method``, a method is measured with its own
preset and without peers.
"""

import statistics
from typing import Any

import torch

from bench.committed import note_moves
from bench.graphs_at_hand import load_graphs
from bench.script import print_json, script_parser
from bench.step import epoch_measures, method_measures
from bench.timing import in_turn, one_thread
from nmrgcl.run.recipe import recipe

REPEATS = 7
SHOWN = ("floor", "three views", "four views", "PyG by graph, three views", "PyG by batch, three views")


def measure(name: str, method: str | None) -> dict[str, Any]:
    graphs = load_graphs(name, torch.device("cpu"))
    if method:
        measures = method_measures(graphs, recipe(method, dataset=name, assignments=["epochs=1000000"]))
    else:
        every = epoch_measures(graphs)
        measures = {key: every[key] for key in SHOWN}
    seconds = in_turn(measures, REPEATS)
    medians = {key: statistics.median(values) for key, values in seconds.items()}
    return {
        "dataset": name,
        "seconds": medians,
        "spread": {key: max(values) - min(values) for key, values in seconds.items()},
        "ratio to floor": {key: medians[key] / medians["floor"] for key in medians},
    }


def main() -> None:
    parser = script_parser(__doc__)
    parser.add_argument("datasets", nargs="*", default=["NCI1", "PROTEINS", "IMDB-BINARY"])
    parser.add_argument("--method")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with one_thread():
        rows = [measure(name, arguments.method) for name in arguments.datasets]
    found = {"threads": 1, "torch": torch.__version__, "rows": rows}
    if arguments.json:
        print_json(found, None)
        return
    for row in rows:
        print(row["dataset"])
        for key, seconds in row["seconds"].items():
            print(f"  {key:<26} {seconds:.3f} s   {seconds / row['seconds']['floor']:.2f} × floor")
    note_moves(found)


if __name__ == "__main__":
    main()
