"""Supervised training on a GPU: steps with hubs summed whole and in parts, and with folds side by side.

    python benchmarks/supervised.py [REDDIT-BINARY NCI1] [--preset supervised_graph_gcn] [--json]

Batches of 32 graphs and ten folds. A step is that of one model; "alone" means that there is one model.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import torch

from bench.graphs_at_hand import load_graphs
from bench.script import print_rows, script_parser
from bench.table import Row
from bench.timing import in_turn, now, row
from nmrgcl.data.loading import load
from nmrgcl.data.splits import Split, stratified_folds
from nmrgcl.evaluate.finetune import Classifier, Task, Training, train
from nmrgcl.evaluate.side_by_side import Epochs
from nmrgcl.graphs import Graphs
from nmrgcl.methods import build_pretraining
from nmrgcl.settings import FinetuneSettings, resolve

EPOCHS, BATCH, REPEATS = 5, 32, 2


def trainings(preset: str, graphs: Graphs, y: np.ndarray, count: int) -> tuple[list[Training], Epochs]:
    settings = resolve(preset)
    folds = stratified_folds(y, 10, seed=0)[:count]
    labels, options = torch.from_numpy(y).to(graphs.device), FinetuneSettings(epochs=EPOCHS, patience=0)
    made = []
    for known, unknown in folds:
        method = build_pretraining(settings, graphs.num_features)
        model = Classifier(method, method.embed, method.width, int(y.max()) + 1, 0.0).to(graphs.device)
        made.append(Training(Task(model, Split(known, unknown, unknown), options), graphs, labels, "graph"))
    return made, Epochs(made, graphs, labels, BATCH, capture=True, by_size=True)


def seconds(preset: str, graphs: Graphs, y: np.ndarray, count: int) -> float:
    """Seconds of some epochs of ``count`` models, without recording the steps."""
    made = trainings(preset, graphs, y, count)
    began = now(graphs.device)
    train(*made)
    return now(graphs.device) - began


def measure(preset: str, name: str, graphs: Graphs) -> list[Row]:
    y = np.asarray(load(name).y)
    steps = EPOCHS * (len(graphs) * 9 // 10 // BATCH)
    forms = {"hubs whole": replace(graphs, hubs=False)} | ({"hubs in parts": graphs} if graphs.hubs else {})
    rows = []
    for count, side in ((1, "alone"), (10, "of ten side by side")):
        costs = in_turn({how: partial(seconds, preset, form, y, count) for how, form in forms.items()}, REPEATS)
        rows += [
            row(f"{name}, {preset}: a step {side}, {how}", "ms", found, scale=1e3 / steps / count)
            for how, found in costs.items()
        ]
    return rows


def main() -> None:
    parser = script_parser(__doc__)
    parser.add_argument("datasets", nargs="*", default=["REDDIT-BINARY", "NCI1"])
    parser.add_argument("--preset", default="supervised_graph_gin")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    device, found = torch.device("cuda"), []
    for name in arguments.datasets:
        found += measure(arguments.preset, name, load_graphs(name, device))
    print_rows(found, device, as_json=arguments.json)


if __name__ == "__main__":
    main()
