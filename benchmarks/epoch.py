"""One pre-training epoch on the CPU against its floor, in the same process on one thread.

    python benchmarks/epoch.py [NCI1 PROTEINS IMDB-BINARY] [--json]

The floor: two forward passes of the same encoder and head, loss, backward and Adam on batches that were collated
beforehand and are not augmented. What an epoch costs above it is batches, views and masks. The peer: the same network
from PyG's GINConv, fed by PyG's DataLoader, two passes without any augmentation.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from nmrgcl.contrast import cosine, infonce, non_maximum
from nmrgcl.data import load
from nmrgcl.data.conversions import to_pyg
from nmrgcl.data.features import apply_features, choose_features
from nmrgcl.encode import Head
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


class PyGEncoder(nn.Module):
    def __init__(self, num_features: int, layers: int, units: int) -> None:
        from torch_geometric.nn import GINConv

        super().__init__()
        widths = [num_features] + [units] * (layers - 1)
        mlps = [nn.Sequential(nn.Linear(w, units), nn.ReLU(), nn.Linear(units, units)) for w in widths]
        self.convs = nn.ModuleList(GINConv(mlp) for mlp in mlps)
        self.norms = nn.ModuleList(nn.BatchNorm1d(units) for _ in widths)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, size: int) -> Tensor:
        from torch_geometric.nn import global_add_pool

        outputs = []
        for conv, norm in zip(self.convs, self.norms, strict=True):
            x = norm(conv(x, edge_index).relu())
            outputs.append(x)
        return global_add_pool(torch.cat(outputs, 1), batch, size)


def peer_times(graphs: Graphs, settings: Settings) -> Callable[[], float]:
    from torch_geometric.loader import DataLoader

    loader = DataLoader(to_pyg(graphs).to_data_list(), settings.train.batch_size, shuffle=True)
    encoder = PyGEncoder(graphs.num_features, settings.encoder.layers, settings.encoder.units)
    model = nn.ModuleList([encoder, Head(settings.encoder.layers * settings.encoder.units)])
    optimiser = torch.optim.Adam(model.parameters(), lr=settings.train.lr, fused=True)

    def epoch() -> float:
        began = time.perf_counter()
        for batch in loader:
            z1, z2 = (model[1](encoder(batch.x, batch.edge_index, batch.batch, batch.num_graphs)) for _ in range(2))
            loss = infonce(z1, z2, positive=cosine(z1, z2 * non_maximum(z1, 0.7)))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        return time.perf_counter() - began

    return epoch


def measure(name: str) -> dict[str, Any]:
    dataset = load(name)
    graphs = apply_features(dataset, choose_features(dataset))
    settings = resolve("graphcl", assignments=["epochs=1000"])
    few = [v for v in settings.to_dict()["views"]["first"] if v["name"] != "Subgraph"]
    runs = {
        "floor": floor_times(graphs, settings),
        "PyG without views": peer_times(graphs, settings),
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
    return {
        "dataset": name,
        "seconds": medians,
        "spread": {key: max(values) - min(values) for key, values in seconds.items()},
        "ratio to floor": {key: medians[key] / medians["floor"] for key in medians},
    }


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
        print(row["dataset"])
        for key, seconds in row["seconds"].items():
            print(f"  {key:<24} {seconds:.3f} s   {seconds / row['seconds']['floor']:.2f} × floor")


if __name__ == "__main__":
    main()
