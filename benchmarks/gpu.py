"""Recorded training steps on a GPU for several sets of views, batch sizes and precisions.

    python benchmarks/gpu.py [NCI1 PROTEINS IMDB-BINARY] [--json]

The method is nmrGCL with a GIN of 3 × 32 units; each graph draws both views from the set. "20 epochs" is everything a
training does after the first epochs, in which the step is recorded: shuffling, batches, views, steps, and the loss.
"""

from collections.abc import Iterator
from itertools import islice

import torch

from bench.graphs_at_hand import load_graphs
from bench.script import print_rows, script_parser
from bench.table import Row
from bench.timing import now, row
from nmrgcl.graphs import Graphs
from nmrgcl.methods import build_method
from nmrgcl.settings import resolve
from nmrgcl.train import Epoch, pretrain

EPOCHS, REPEATS = 20, 5
THREE = [{"name": name} for name in ("DropNodes", "DropEdges", "DropFeatures")]
VIEWS = {"three views": THREE, "with Subgraph and AddEdges": [*THREE, {"name": "Subgraph"}, {"name": "AddEdges"}]}
CASES = [(128, "float32"), (128, "tf32"), (1024, "float32"), (1024, "tf32")]


def training(graphs: Graphs, views: list[dict[str, str]], batch_size: int, precision: str) -> Iterator[Epoch]:
    """Epochs of nmrGCL with one of the ``views`` for each graph, on both sides."""
    settings = resolve("paper", assignments=["epochs=1000000", "patience=0", f"precision={precision}"])
    chosen = {"views.first": views, "views.second": views, "batch_size": batch_size}
    settings = settings.updated({**chosen, "layers": 3, "encoder.units": 32})
    method = build_method(settings, graphs.num_features).to(graphs.device)
    return pretrain(method, graphs, settings.train)


def measure(name: str, graphs: Graphs, views: str, batch_size: int, precision: str) -> list[Row]:
    epochs = training(graphs, VIEWS[views], batch_size, precision)
    list(islice(epochs, 3))
    seconds = []
    for _ in range(REPEATS):
        began = now(graphs.device)
        list(islice(epochs, EPOCHS))
        seconds.append(now(graphs.device) - began)
    title = f"{name}, {views}, batch {batch_size}, {precision}"
    steps = EPOCHS * -(-len(graphs) // batch_size)
    return [
        row(f"{title}: a step", "ms", seconds, scale=1e3 / steps),
        row(f"{title}: a graph", "us", seconds, scale=1e6 / (EPOCHS * len(graphs))),
        row(f"{title}: {EPOCHS} epochs", "s", seconds),
    ]


def main() -> None:
    parser = script_parser(__doc__)
    parser.add_argument("datasets", nargs="*", default=["NCI1", "PROTEINS", "IMDB-BINARY"])
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    device, rows = torch.device("cuda"), []
    for name in arguments.datasets:
        graphs = load_graphs(name, device)
        for batch_size, precision in CASES if name == "NCI1" else CASES[:1]:
            for views in VIEWS if batch_size == CASES[0][0] else ["three views"]:
                rows += measure(name, graphs, views, batch_size, precision)
    print_rows(rows, device, as_json=arguments.json)


if __name__ == "__main__":
    main()
