"""What choosing on the test folds adds to an accuracy, and an upper bound for each dataset.

NMRGCL_MIRROR=… python benchmarks/selection.py PTC_MR IMDB-MULTI > benchmarks/results/selection.json   # minutes

There is one training per seed (preset ``graphcl``), evaluated by the least-squares SVM every five epochs for every C on
ten folds. Each rule selects from these accuracies ``[epochs, C, folds]``. ``at_most`` is the share of graphs that have
the most frequent class among those that colour refinement (Weisfeiler and Leman, five rounds) cannot distinguish: no
message passing can be more accurate, even with all labels.
"""

import json
from collections import Counter, defaultdict
from typing import Any

import networkx as nx
import numpy as np
import torch

from bench.script import script_parser
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import apply_features, choose_features
from nmrgcl.data.loading import load
from nmrgcl.evaluate.lssvm import lssvm_table
from nmrgcl.methods import build_method
from nmrgcl.run.embeddings import embed_all
from nmrgcl.settings import resolve
from nmrgcl.train import pretrain

EVERY = 5
ROUNDS = 5


def tables(dataset: Dataset, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Accuracies ``[epochs, C, folds]`` inside the training folds and on the test folds."""
    settings = resolve("graphcl", assignments=[f"seed={seed}"])
    graphs = apply_features(dataset, choose_features(dataset))
    method, found = build_method(settings, graphs.num_features), []
    assert dataset.y is not None
    for epoch in pretrain(method, graphs, settings.train, seed=seed):
        if epoch.number % EVERY == 0:
            z = embed_all(method, graphs).numpy()
            found.append(lssvm_table(z, dataset.y, seed=seed, standardise=settings.svm.standardise))
    inner, outer = (np.array(part) for part in zip(*found, strict=True))
    return inner, outer


def rules(inner: np.ndarray, outer: np.ndarray) -> dict[str, float]:
    """The accuracy that each rule reports."""
    nested = np.take_along_axis(outer, inner.argmax(1)[:, None], axis=1)[:, 0]  # [epochs, folds], C inside
    return {
        "honest: last epoch, C inside the training folds": nested[-1].mean(),
        "best epoch": nested.mean(1).max(),
        "best C": outer[-1].mean(1).max(),
        "best epoch and C (selection paper)": outer.mean(2).max(),
        "best C in each fold": outer[-1].max(0).mean(),
        "best epoch and C in each fold": outer.max((0, 1)).mean(),
    }


def at_most(dataset: Dataset) -> dict[str, float]:
    """The upper bound by colour refinement, for all graphs and for those that are indistinguishable from others."""
    graphs = apply_features(dataset, choose_features(dataset))
    colours, starts = graphs.dense_x().argmax(1).tolist(), graphs.node_ptr.tolist()
    edges = graphs.edge_index.T.tolist()
    whole = nx.Graph()
    whole.add_nodes_from((node, {"colour": str(colour)}) for node, colour in enumerate(colours))
    whole.add_edges_from(edges)
    alike: dict[str, list[int]] = defaultdict(list)
    assert dataset.y is not None
    for first, after, label in zip(starts[:-1], starts[1:], dataset.y.tolist(), strict=True):
        part = whole.subgraph(range(first, after))
        alike[nx.weisfeiler_lehman_graph_hash(part, node_attr="colour", iterations=ROUNDS)].append(label)
    repeated = [labels for labels in alike.values() if len(labels) > 1]
    return {
        "graphs": len(starts) - 1,
        "different": len(alike),
        "repeated": sum(map(len, repeated)),
        "at_most": _majority(list(alike.values())),
        "at_most_on_repeated": _majority(repeated),
    }


def _majority(groups: list[list[int]]) -> float:
    most = sum(max(Counter(labels).values()) for labels in groups)
    return 100 * most / max(sum(map(len, groups)), 1)


def main() -> None:
    parser = script_parser(__doc__)
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    found: dict[str, Any] = {}
    for name in options.datasets:
        dataset = load(name)
        seeds = [rules(*tables(dataset, seed)) for seed in range(options.seeds)]
        scores = {rule: [float(one[rule]) for one in seeds] for rule in seeds[0]}
        spread = {rule: float(np.std(values, ddof=1)) if len(values) > 1 else 0.0 for rule, values in scores.items()}
        means = {rule: {"mean": float(np.mean(scores[rule])), "std": spread[rule]} for rule in scores}
        found[name] = {"seeds": options.seeds, "rules": means, **at_most(dataset)}
    print(json.dumps(found, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
