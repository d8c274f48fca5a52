"""One pre-training epoch on the CPU against its floor, in the same process on one thread.

    python benchmarks/epoch.py [NCI1 PROTEINS IMDB-BINARY] [--json]

The floor: two forward passes of the same encoder and head, loss, backward and Adam on batches that were collated
beforehand and are not augmented. What an epoch costs above it is batches, views and masks. PyG's DataLoader with
PyG's GINConv on the same batches, one un-augmented pass per view, is the named peer.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable

import torch

from nmrgcl.data import load
from nmrgcl.data.features import apply_features, choose_features
from nmrgcl.graphs import Graphs
from nmrgcl.methods import build_method
from nmrgcl.settings import Settings, resolve
from nmrgcl.train import batches, pretrain

REPEATS = 7


def epoch_times(graphs: Graphs, settings: Settings) -> Callable[[], float]:
    method = build_method(settings, graphs.num_features)
    epochs = pretrain(method, graphs, settings.train)
    return lambda: next(epochs).seconds


def floor_times(graphs: Graphs, settings: Settings) -> Callable[[], float]:
    plain = settings.updated({"views.first": [], "views.second": []})
    method = build_method(plain, graphs.num_features).train()
    optimiser = torch.optim.Adam(method.parameters(), lr=settings.train.lr, fused=True)
    collated = [graphs.take(part) for part in batches(graphs.num_graphs, settings.train.batch_size)]

    def epoch() -> float:
        began = time.perf_counter()
        for batch in collated:
            for loss in method.losses(batch):
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
        return time.perf_counter() - began

    return epoch


def measure(name: str) -> dict[str, object]:
    dataset = load(name)
    graphs = apply_features(dataset, choose_features(dataset))
    settings = resolve("graphcl", assignments=["epochs=1000"])
    few = [v for v in settings.to_dict()["views"]["first"] if v["name"] != "Subgraph"]
    runs = {
        "floor": floor_times(graphs, settings),
        "epoch": epoch_times(graphs, settings),
        "epoch without Subgraph": epoch_times(graphs, settings.updated({"views.first": few, "views.second": few})),
    }
    for run in runs.values():
        run()
    seconds: dict[str, list[float]] = {key: [] for key in runs}
    for _ in range(REPEATS):  # in turn, so that a busy moment of the machine hits all of them
        for key, run in runs.items():
            seconds[key].append(run())
    medians = {key: statistics.median(values) for key, values in seconds.items()}
    ratios = {f"{key} / floor": medians[key] / medians["floor"] for key in medians if key != "floor"}
    return {"dataset": name, "seconds": medians, "spread": {k: max(v) - min(v) for k, v in seconds.items()}, **ratios}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="*", default=["NCI1", "PROTEINS", "IMDB-BINARY"])
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = [measure(name) for name in arguments.datasets]
    if arguments.json:
        print(json.dumps({"threads": 1, "torch": torch.__version__, "rows": rows}))
        return
    for row in rows:
        print(row["dataset"], {k: v for k, v in row.items() if k != "dataset"})


if __name__ == "__main__":
    main()
