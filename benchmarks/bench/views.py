"""The cost of each view on a batch, compared with its counterpart in PyG.

PyG's functions treat a batch as one graph, and those that remove nodes leave them in ``x``; ours act on each graph
separately. On a CPU, our time includes the compaction that takes place before the encoder.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from bench import geometric
from bench.graphs_at_hand import at_hand, load_graphs
from bench.table import Row
from bench.timing import in_turn, row, stopwatch
from nmrgcl.augment import (
    VIEWS,
    DropCentralEdgesLess,
    DropEdges,
    DropFeatures,
    DropNodes,
    Identity,
    MaskCentralFeaturesLess,
    OneOf,
    Subgraph,
    View,
)
from nmrgcl.graphs import Graphs

BATCH, CALLS = 128, 10


def view_rows(names: Sequence[str] = (), *, device: torch.device, repeats: int = 7) -> list[Row]:
    """One row per view for one batch of each dataset."""
    rows = []
    for name in names or at_hand(("NCI1",)) or ["MUTAG"]:
        graphs = load_graphs(name, device)
        generator = torch.Generator().manual_seed(0)
        batch = graphs.take(torch.randperm(graphs.num_graphs, generator=generator)[:BATCH])
        peers = _peers(batch) if geometric.installed() else {}
        for label, view in _views().items():
            works = {"ours": _seen(view, batch)} | ({"peer": peers[label]} if label in peers else {})
            measures = {key: stopwatch(work, device, calls=CALLS) for key, work in works.items()}
            costs = in_turn(measures, repeats)
            rows.append(row(f"{name}: {label}", "us a batch", costs["ours"], costs.get("peer"), scale=1e6))
    return rows


def _views() -> dict[str, View]:
    three = (DropNodes(), DropEdges(), DropFeatures())
    # Views by centrality have no peer, and on a single graph, for which they are made, it is computed only once.
    others = (Identity, DropCentralEdgesLess, MaskCentralFeaturesLess)
    single: dict[str, View] = {name: view() for name, view in VIEWS.items() if view not in others}
    return single | {"OneOf three": OneOf(*three), "OneOf four": OneOf(*three, Subgraph())}


def _seen(view: View, batch: Graphs) -> Callable[[], Graphs]:
    if batch.device.type == "cpu":
        return lambda: view(batch).compact_nodes()
    return lambda: view(batch)


def _peers(batch: Graphs) -> dict[str, Callable[[], Any]]:
    from torch_geometric import utils

    from nmrgcl.data.conversions import to_pyg

    data = to_pyg(batch.to("cpu")).to(str(batch.device))
    x, edges, size = data.x, data.edge_index, data.num_nodes
    return {
        "DropNodes": lambda: utils.dropout_node(edges, 0.2, size),
        "ShuffleNodes": lambda: utils.shuffle_node(x, data.batch),
        "DropEdges": lambda: utils.dropout_edge(edges, 0.2, force_undirected=True),
        "AddEdges": lambda: utils.add_random_edge(edges, 0.2, force_undirected=True, num_nodes=size),
        "MaskFeatures": lambda: utils.mask_feature(x, 0.2, "col"),
        "DropFeatures": lambda: utils.mask_feature(x, 0.2, "row"),
        "Subgraph": lambda: geometric.walk(data),
        "OneOf three": lambda: geometric.augment(data, 3),
        "OneOf four": lambda: geometric.augment(data, 4),
    }
