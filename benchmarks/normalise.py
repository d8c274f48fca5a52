"""Which scaling suits embeddings? Clustering, neighbours and default classifiers on four scalings.

NMRGCL_MIRROR=… python benchmarks/normalise.py --out benchmarks/results/normalise.json     # one thread, two minutes

Encoders are trained without labels (preset ``graphcl``, or ``--preset``); labels are used for evaluation only. KMeans
with as many clusters as classes: adjusted Rand index. Five nearest neighbours with leave-one-out, and scikit-learn's
default SVC and logistic regression with five folds: accuracy in percent. Plot: five nearest neighbours on the first two
principal axes. Outliers: one class, and a twentieth as many graphs of the others, which are detected by their mean
distance to the five nearest rows: area under the ROC curve in percent, averaged over classes. ``--table`` prints stored
results.
"""

import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

import networkx as nx
import numpy as np
import torch
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import SVC

from bench.script import machine, script_parser
from nmrgcl import GraphEmbedder, as_dataset, load
from nmrgcl.data.dataset import Dataset
from nmrgcl.evaluate.normalise import WORDS, ColumnScale, normalised
from nmrgcl.run.embeddings import embed_dataset

DATASETS = ("families", "motifs", "MUTAG", "PTC_MR", "PROTEINS", "IMDB-BINARY", "IMDB-MULTI", "NCI1")
MOST = 1500
"""Datasets are evaluated on an evenly spaced sample of at most this many graphs."""
JUDGES = ("clusters", "neighbours", "outliers", "plot", "svc", "logistic")


def families(graphs: int = 300, seed: int = 0) -> tuple[list[nx.Graph], np.ndarray]:
    """Random, preferential-attachment and small-world graphs of 20 to 60 nodes, all with about two edges per node."""
    chance = np.random.default_rng(seed)
    make: tuple[Callable[[int, int], nx.Graph], ...] = (
        lambda n, s: nx.gnm_random_graph(n, 2 * n, s),
        lambda n, s: nx.barabasi_albert_graph(n, 2, s),
        lambda n, s: nx.watts_strogatz_graph(n, 4, 0.1, s),
    )
    y = np.arange(graphs) % len(make)
    return [make[kind](int(chance.integers(20, 61)), int(chance.integers(2**31))) for kind in y], y


def labelled(name: str) -> tuple[Dataset, np.ndarray]:
    if name == "families":
        graphs, y = families()
        return as_dataset(graphs), y
    dataset = load(name)
    assert dataset.y is not None
    return dataset, dataset.y


def by_neighbours(z: np.ndarray, y: np.ndarray) -> float:
    """The percentage of rows whose class is that of the majority of their five nearest neighbours."""
    near = NearestNeighbors(n_neighbors=5).fit(z).kneighbors(return_distance=False)  # Excludes the row itself.
    return 100 * float(np.mean([np.bincount(row).argmax() for row in y[near]] == y))


def by_distance(z: np.ndarray, y: np.ndarray, seed: int) -> float:
    """The percentage of pairs of an inlier and an outlier in which the outlier is farther from its neighbours."""
    chance, found = np.random.default_rng(seed), []
    for kind in np.unique(y):
        own, other = np.flatnonzero(y == kind), np.flatnonzero(y != kind)
        rows = np.concatenate([own, chance.choice(other, max(1, len(own) // 20), replace=False)])
        distance, _ = NearestNeighbors(n_neighbors=5).fit(z[rows]).kneighbors()
        found.append(roc_auc_score(y[rows] != kind, distance.mean(1)))
    return 100 * float(np.mean(found))


def judge(z: np.ndarray, y: np.ndarray, seed: int) -> dict[str, float]:
    z = z.astype(np.float64)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    return {
        "clusters": float(adjusted_rand_score(y, KMeans(len(set(y)), n_init=10, random_state=seed).fit_predict(z))),
        "neighbours": by_neighbours(z, y),
        "outliers": by_distance(z, y, seed),
        "plot": by_neighbours(PCA(2, random_state=seed).fit_transform(z), y),
        "svc": 100 * float(cross_val_score(SVC(), z, y, cv=folds).mean()),
        "logistic": 100 * float(cross_val_score(LogisticRegression(max_iter=1000), z, y, cv=folds).mean()),
    }


def measure(name: str, preset: str, seeds: int) -> dict[str, Any]:
    """The scores of each scaling and criterion, one per seed."""
    dataset, y = labelled(name)
    some = np.arange(0, len(y), -(-len(y) // MOST))
    found: dict[str, dict[str, list[float]]] = {kind: {one: [] for one in JUDGES} for kind in WORDS}
    for seed in range(seeds):
        model = GraphEmbedder(preset=preset, random_state=seed, device="cpu").fit(dataset).model_
        z = embed_dataset(model, dataset, torch.device("cpu")).z
        for kind in WORDS:
            for one, value in judge(normalised(z, kind, ColumnScale.of(z))[some], y[some], seed).items():
                found[kind][one].append(value)
    return {"graphs": len(y), "judged": len(some), "classes": len(set(y.tolist())), "scores": found}


def table(found: dict[str, Any]) -> str:
    """A Markdown table of means over seeds, and over datasets."""
    lines = ["| dataset | judge | " + " | ".join(WORDS) + " |", "|---|---|" + "---|" * len(WORDS)]
    means: dict[str, list[list[float]]] = {one: [] for one in JUDGES}
    for name, entry in found["datasets"].items():
        for one in JUDGES:
            row = [mean(entry["scores"][kind][one]) for kind in WORDS]
            means[one].append(row)
            lines.append(_line(name, one, row))
    lines += [_line("mean", one, np.mean(rows, 0).tolist()) for one, rows in means.items()]
    return "\n".join(lines)


def _line(name: str, one: str, row: list[float]) -> str:
    digits = 2 if one == "clusters" else 1
    best = max(round(value, digits) for value in row)
    shown = [f"{value:.{digits}f}" if round(value, digits) < best else f"**{value:.{digits}f}**" for value in row]
    return f"| {name} | {one} | " + " | ".join(shown) + " |"


def main() -> None:
    parser = script_parser(__doc__)
    parser.add_argument("datasets", nargs="*", default=DATASETS)
    parser.add_argument("--preset", default="graphcl")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="write the results as JSON")
    parser.add_argument("--table", type=Path, help="print the table of such a file without measuring")
    options = parser.parse_args()
    if options.table:
        print(table(json.loads(options.table.read_text())))
        return
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", ConvergenceWarning)
    found: dict[str, Any] = {
        "preset": options.preset,
        "seeds": options.seeds,
        "datasets": {},
        "machine": machine("cpu"),
    }
    for name in options.datasets:
        found["datasets"][name] = measure(name, options.preset, options.seeds)
        print(f"{name}: {time.process_time():.0f} CPU seconds so far", file=sys.stderr, flush=True)
        if options.out:
            found["cpu_seconds"] = round(time.process_time())
            options.out.write_text(json.dumps(found, indent=1) + "\n")
    print(table(found))


if __name__ == "__main__":
    main()
