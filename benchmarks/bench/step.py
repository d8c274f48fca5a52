"""One pre-training epoch, compared with its floor and with PyG.

The floor is two forward passes of the same encoder and head, loss, backward and Adam on batches that were collated
beforehand and are not augmented. The cost of an epoch above the floor is due to batches, views and masks.
"""

from collections.abc import Sequence

import torch

from bench import geometric
from bench.graphs_at_hand import at_hand, load_graphs
from bench.table import Row
from bench.timing import Measure, in_turn, row, stopwatch
from nmrgcl.graphs import Graphs
from nmrgcl.methods import build_pretraining
from nmrgcl.settings import Settings, resolve
from nmrgcl.train import Progress, pretrain
from nmrgcl.train.feed import batches

VIEWS = {"three views": 3, "four views": 4}
"""OneOf(DropNodes, DropEdges, DropFeatures), and with Subgraph."""

PEERS = {"PyG by graph": True, "PyG by batch": False}
"""How the peer draws its views: graph by graph in the loader, or for a whole batch."""


def step_rows(names: Sequence[str] = (), *, device: torch.device, repeats: int = 7) -> list[Row]:
    """Rows for each dataset; without ``names``, for the usual ones that are available."""
    rows = []
    for name in names or at_hand() or ["MUTAG"]:
        costs = in_turn(epoch_measures(load_graphs(name, device)), repeats)
        rows.append(row(f"{name}: floor", "s an epoch", costs["floor"]))
        for views in VIEWS:
            rows.append(row(f"{name}: {views}, to floor", "s an epoch", costs[views], costs["floor"]))
            for way in PEERS:
                peer = costs.get(f"{way}, {views}")
                rows.append(row(f"{name}: {views}, to {way}", "s an epoch", costs[views], peer))
    return rows


def epoch_measures(graphs: Graphs) -> dict[str, Measure]:
    """Seconds of an epoch: the floor, ours with each set of views, and, if installed, PyG with none and with each."""
    settings = resolve("graphcl", assignments=["epochs=1000000"])
    measures = {"floor": _floor(graphs, settings)}
    for views, choices in VIEWS.items():
        chosen = settings.to_dict()["views"]["first"][:choices]
        measures[views] = _ours(graphs, settings.updated({"views.first": chosen, "views.second": chosen}))
    if geometric.installed():
        measures["PyG without views"] = geometric.epochs(graphs, settings, choices=0)
        for views, choices in VIEWS.items():
            for way, by_graph in PEERS.items():
                measures[f"{way}, {views}"] = geometric.epochs(graphs, settings, choices=choices, by_graph=by_graph)
    return measures


def method_measures(graphs: Graphs, settings: Settings) -> dict[str, Measure]:
    """Seconds of an epoch of any method that trains, and of its floor: its losses on prepared batches."""
    return {"floor": _floor(graphs, settings), "epoch": _ours(graphs, settings)}


def _ours(graphs: Graphs, settings: Settings) -> Measure:
    method = build_pretraining(settings, graphs.num_features).to(graphs.device)
    epochs = pretrain(method, graphs, settings.train)
    return stopwatch(lambda: next(epochs), graphs.device)


def _floor(graphs: Graphs, settings: Settings) -> Measure:
    plain = settings.updated({"views.first": [], "views.second": []})
    method = build_pretraining(plain, graphs.num_features).to(graphs.device).train()
    optimiser = torch.optim.Adam(method.parameters(), lr=settings.train.lr, fused=True)
    collated = [graphs.take(part) for part in batches(graphs.num_graphs, settings.train.batch_size)]

    second = Progress(2, len(collated), 2, 2 * len(collated))  # Some methods treat the first epoch specially.

    def epoch() -> None:
        with torch.no_grad():
            method.survey(iter(collated), second)
        for batch in collated:
            for loss in method.losses(batch, second):
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()

    return stopwatch(epoch, graphs.device)
