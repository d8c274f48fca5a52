"""What each faster form of an operation is worth: an epoch of training without it, beside one with all forms.

    python benchmarks/forms.py [NCI1] [--device cuda] [--json]

Datasets train a GIN of 3 × 32 units with GraphCL in batches of 128; "molecules" is the molecular GIN of ``nmrgcl bench
scale``. Only forms for the device are left out. The value is an epoch with all forms, the peer one without the form: a
ratio of 1.05 means that an epoch takes 5 % longer without it.
"""

from collections.abc import Iterable

import torch

from bench.graphs_at_hand import load_graphs
from bench.molecules import bonded_molecules
from bench.scale import molecule_settings
from bench.script import print_rows, script_parser
from bench.table import Row
from bench.timing import Measure, in_turn, one_thread, row, stopwatch
from nmrgcl.graphs import Graphs
from nmrgcl.methods import build_pretraining
from nmrgcl.ops.forms import Form, forms, switched_off
from nmrgcl.settings import Settings, resolve
from nmrgcl.train import pretrain

REPEATS, BATCHES = 9, 8


def training(graphs: Graphs, settings: Settings, off: Iterable[Form]) -> Measure:
    """An epoch without the forms in ``off``; on a GPU the first one records the step."""
    method = build_pretraining(settings, graphs.num_features).to(graphs.device)
    epochs = pretrain(method, graphs, settings.train)

    def epoch() -> None:
        with switched_off(*off):
            next(epochs)

    return stopwatch(epoch, graphs.device)


def measure(title: str, graphs: Graphs, settings: Settings, among: Iterable[Form]) -> list[Row]:
    without = {f"without {form.operation}: {form.name}": training(graphs, settings, [form]) for form in among}
    measures = {"all forms": training(graphs, settings, []), **without}
    costs = in_turn(measures, REPEATS)
    return [row(f"{title}, {name}", "s", costs["all forms"], costs[name]) for name in measures]


def main() -> None:
    parser = script_parser(__doc__)
    parser.add_argument("datasets", nargs="*", default=["NCI1"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    device = torch.device(arguments.device)
    place = "on a GPU" if device.type == "cuda" else "on a CPU"
    faster = [form for form in forms() if form.name != "plain" and place in form.when]
    small = resolve("graphcl", assignments=["epochs=1000000"])
    large = molecule_settings(device)
    rows: list[Row] = []
    with one_thread():
        for name in arguments.datasets:
            rows += measure(name, load_graphs(name, device), small, faster)
        sample = bonded_molecules(BATCHES * large.train.batch_size).to(device)
        rows += measure("molecules", sample, large, faster)
    print_rows(rows, device, as_json=arguments.json)


if __name__ == "__main__":
    main()
