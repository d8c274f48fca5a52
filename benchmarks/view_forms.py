"""What the faster forms of views, batches and losses are worth: a step with the views that need them, and without them.

    python benchmarks/view_forms.py [NCI1 PROTEINS IMDB-BINARY] [--operations "new edges"] [--json]

Method nmrGCL, GIN 3 × 32, batch 128; on a GPU steps are recorded. Both views are those that need the operation:
AddEdges for new edges, Subgraph for random walks, otherwise one of three for each graph. "Five views" is one of these
three, Subgraph and AddEdges. The ratio is the time without the faster forms to the time with them: at 1.20 the step
takes 20 % longer without. ``benchmarks/forms.py`` measures every form with the usual views.
"""

from itertools import islice

import torch

from bench.graphs_at_hand import load_graphs
from bench.script import print_rows, script_parser
from bench.table import Row
from bench.timing import Measure, in_turn, now, row
from gpu import THREE, training
from nmrgcl.graphs import Graphs
from nmrgcl.ops.forms import Form, forms, switched_off

EPOCHS, REPEATS, BATCH = {"cuda": 20, "cpu": 1}, 7, 128
FIVE = [*THREE, {"name": "Subgraph"}, {"name": "AddEdges"}]
OPERATIONS = ("new edges", "random walk", "view masks", "padded batch", "pair loss")
NEEDED = {"new edges": "AddEdges", "random walk": "Subgraph"}
"""The view that an operation is for."""


def epochs(graphs: Graphs, views: list[dict[str, str]], off: tuple[Form, ...], count: int) -> Measure:
    """Seconds of ``count`` epochs without the forms ``off``, after those that record the step."""
    running = training(graphs, views, BATCH, "float32")

    def measure() -> float:
        with switched_off(*off):
            began = now(graphs.device)
            list(islice(running, count))
            return now(graphs.device) - began

    with switched_off(*off):
        list(islice(running, 3))
    return measure


def measure(name: str, graphs: Graphs, operations: list[str]) -> list[Row]:
    rows, count = [], EPOCHS[graphs.device.type]
    steps = count * -(-len(graphs) // BATCH)
    for operation in operations:
        faster = tuple(form for form in forms() if form.operation == operation)[1:]
        alone = [{"name": NEEDED[operation]}] if operation in NEEDED else THREE
        for title, views in {operation: alone, f"{operation}, five views": FIVE}.items():
            measures = {key: epochs(graphs, views, off, count) for key, off in {"with": (), "without": faster}.items()}
            seconds = in_turn(measures, REPEATS)
            rows.append(row(f"{name}, {title}", "ms a step", seconds["with"], seconds["without"], scale=1e3 / steps))
    return rows


def main() -> None:
    parser = script_parser(__doc__)
    parser.add_argument("datasets", nargs="*", default=["NCI1", "PROTEINS", "IMDB-BINARY"])
    parser.add_argument("--operations", nargs="+", default=OPERATIONS, choices=OPERATIONS, metavar="NAME")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    device = torch.device(arguments.device)
    rows = [
        found for name in arguments.datasets for found in measure(name, load_graphs(name, device), arguments.operations)
    ]
    print_rows(rows, device, as_json=arguments.json)


if __name__ == "__main__":
    main()
