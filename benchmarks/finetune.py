"""Fine-tuning on molecules by the protocol of Hu et al.: 100 epochs of encoder and head, for one seed and for several.

    python benchmarks/finetune.py [BBBP] [--seeds 5] [--device cuda] [--json]

Seconds include building the models, recording steps, evaluating every epoch on the validation data and the final test,
but not reading the data. On a GPU, several seeds train side by side. One seed is trained twice: the first time is that
of a cold process, which also loads libraries and compiles kernels.
"""

from dataclasses import replace

import numpy as np
import torch

from bench.script import print_rows, script_parser
from bench.timing import now, row
from nmrgcl.data import apply_features, choose_features, load
from nmrgcl.data.molecules.splits import split_rows
from nmrgcl.evaluate.finetune import Task, finetune_scores
from nmrgcl.evaluate.goals import GOALS, goal_of
from nmrgcl.methods import build_pretraining
from nmrgcl.run.finetuning import build_classifier
from nmrgcl.settings import resolve


def main() -> None:
    parser = script_parser(__doc__)
    parser.add_argument("dataset", nargs="?", default="BBBP")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    device, settings, dataset = torch.device(arguments.device), resolve("supervised_molecules"), load(arguments.dataset)
    rows = dataset.molecules
    assert rows is not None, "not a dataset of molecules"
    features = choose_features(dataset, settings.data.features, edges=settings.data.edges)
    graphs, split = apply_features(dataset, features).to(device), split_rows(rows, "scaffold", seed=0)
    goal, found = GOALS[goal_of(rows.targets)], []
    for count, state in ((1, ", cold"), (arguments.seeds, ""), (1, "")):
        began = now(device)
        tasks = []
        for seed in range(count):
            torch.manual_seed(seed)
            encoder = build_pretraining(replace(settings, seed=seed), graphs.num_features, features.edge_shape)
            model = build_classifier(settings, encoder, rows.targets.shape[1]).to(device)
            tasks.append(Task(model, split, settings.finetune))
        size = settings.train.batch_size
        scores = finetune_scores(tasks, graphs, rows.targets, level="graph", batch_size=size, goal=goal)
        name = f"{dataset.name}: {count} seeds, {settings.finetune.epochs} epochs{state}"
        found.append(row(name, "s", [now(device) - began]))
        tests = [one.test for one in scores]
        print(f"{count} seeds: test {np.mean(tests):.2f}, from {min(tests):.2f} to {max(tests):.2f}", flush=True)
    print_rows(found, device, as_json=arguments.json)


if __name__ == "__main__":
    main()
