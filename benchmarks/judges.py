"""Does the least-squares SVM rank embeddings like the SVM, and what does each cost?

NMRGCL_MIRROR=… python benchmarks/judges.py > benchmarks/results/judges.json     # one thread, ten minutes
python benchmarks/judges.py --times --device cuda     # as many random rows as MUTAG, PROTEINS, NCI1 and COLLAB have

There are embeddings by 24 encoders on each dataset, from one with hardly any capacity to trained ones. Both protocols
use the same folds of several seeds. ``again`` is how well the SVM agrees with itself on the folds of other seeds, and
``other_folds`` how well the least-squares SVM agrees with it there; it cannot be expected to exceed ``again``.
"""

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import torch
from scipy.stats import kendalltau, spearmanr

from bench.script import script_parser
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import apply_features, choose_features
from nmrgcl.data.loading import load
from nmrgcl.evaluate.lssvm import lssvm_scores
from nmrgcl.evaluate.svm import svm_scores
from nmrgcl.methods import build_method
from nmrgcl.run.embeddings import embed_all
from nmrgcl.settings import resolve
from nmrgcl.train import pretrain

SEEDS = {"MUTAG": 10, "PROTEINS": 2}
UNTRAINED = ["method=untrained", "epochs=0"]
ENCODERS = [
    [*UNTRAINED, *more]
    for more in (
        [],
        ["layers=1"],
        ["encoder.units=4"],
        ["encoder.units=2", "layers=1", "features=constant"],
        ["features=constant"],
        ["features=degree"],
        ["pool=mean"],
        ["pool=max"],
    )
] + [
    ["epochs=5", *more]
    for more in (
        [],
        ["removal=none"],
        ["removal=both"],
        ["removal=random"],
        ["delta=0.3"],
        ["tau=1"],
        ["lr=0.1"],
        ["pool=mean"],
        ["pool=max"],
        ["encoder.units=4"],
        ["encoder.units=2", "layers=1"],
        ["layers=5"],
        ["features=constant"],
        ["features=degree"],
        ['views.first=[{name="DropNodes", p=0.7}]', 'views.second=[{name="DropNodes", p=0.7}]'],
    )
]
ENCODERS.append(["epochs=20"])


def embed(dataset: Dataset, assignments: list[str]) -> np.ndarray:
    settings = resolve("graphcl", assignments=assignments)
    options = settings.data
    graphs = apply_features(dataset, choose_features(dataset, options.features, options.max_degree, options.scale))
    method = build_method(settings, graphs.num_features)
    for _ in pretrain(method, graphs, settings.train, seed=0):
        pass
    return embed_all(method, graphs).numpy()


def timed(work: Callable[[], np.ndarray], device: torch.device) -> tuple[float, float]:
    """The mean score and its cost: processor time on a CPU, wall-clock time on a GPU."""
    clock = time.process_time if device.type == "cpu" else time.perf_counter
    began = clock()
    found = float(work().mean())
    return found, clock() - began


def judge(dataset: Dataset, assignments: list[str], device: torch.device) -> dict[str, Any]:
    assert dataset.y is not None
    z, y = embed(dataset, assignments), dataset.y
    svm, least = [], []
    for s in range(SEEDS[dataset.name]):
        svm.append(timed(partial(svm_scores, z, y, seed=s, inner="shuffled", jobs=1), device))
        least.append(timed(partial(lssvm_scores, z, y, seed=s, device=device), device))
    row = {"settings": assignments, "svm": [score for score, _ in svm], "lssvm": [score for score, _ in least]}
    row |= {"svm_s": median([cost for _, cost in svm]), "lssvm_s": median([cost for _, cost in least])}
    print(f"{dataset.name} {row}", file=sys.stderr, flush=True)
    return row


def agreement(a: np.ndarray, b: np.ndarray) -> dict[str, Any]:
    """Kendall's tau and Spearman's rho with 95 % intervals, from 2,000 resamples of the embeddings."""
    chance, found = np.random.default_rng(0), {}
    picks = [chance.integers(0, len(a), len(a)) for _ in range(2000)]
    for name, measure in (("tau", kendalltau), ("rho", spearmanr)):
        spread = [measure(a[pick], b[pick]).statistic for pick in picks]
        low, high = np.nanpercentile(spread, [2.5, 97.5])
        found[name] = {"value": float(measure(a, b).statistic), "low": float(low), "high": float(high)}
    return found


def ordered_alike(svm: np.ndarray, least: np.ndarray, points: float) -> dict[str, Any]:
    """The number of pairs that the SVM separates by more than ``points``, and the share that both order alike."""
    first, second = np.triu_indices(len(svm), 1)
    gap, other = svm[first] - svm[second], least[first] - least[second]
    apart = abs(gap) > points
    share = float((gap * other > 0)[apart].mean()) if apart.any() else None
    return {"points": points, "pairs": int(apart.sum()), "share": share}


def summarise(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    svm, least = (np.array([row[judge] for row in rows]) for judge in ("svm", "lssvm"))
    half = SEEDS[name] // 2
    halves = [(scores[:, :half].mean(1), scores[:, half:].mean(1)) for scores in (svm, least)]
    (svm_1, svm_2), (least_1, least_2) = halves
    return {
        "dataset": name,
        "embeddings": len(rows),
        "seeds": SEEDS[name],
        "same_folds": agreement(svm.mean(1), least.mean(1)),
        "ordered_alike": [ordered_alike(svm.mean(1), least.mean(1), points) for points in (0, 1, 2, 3)],
        "again": agreement(svm_1, svm_2),
        "other_folds": [agreement(least_1, svm_2), agreement(least_2, svm_1)],
        "svm_range": [float(svm.mean(1).min()), float(svm.mean(1).max())],
        "mean_difference": float((least - svm).mean()),
        "svm_s": median([row["svm_s"] for row in rows]),
        "lssvm_s": median([row["lssvm_s"] for row in rows]),
        "times_faster": sum(row["svm_s"] for row in rows) / sum(row["lssvm_s"] for row in rows),
        "rows": rows,
    }


def times(device: torch.device) -> list[dict[str, Any]]:
    """Seconds for ten folds of random embeddings, in the second call, as the first one also initialises libraries."""
    found = []
    for rows, classes in ((188, 2), (1113, 2), (4110, 2), (5000, 3)):
        chance = np.random.default_rng(0)
        z, y = chance.normal(size=(rows, 96)), np.arange(rows) % classes
        cost = [timed(partial(lssvm_scores, z, y, seed=0, device=device), device)[1] for _ in range(2)]
        found.append({"rows": rows, "classes": classes, "device": device.type, "seconds": cost[1]})
        print(found[-1], file=sys.stderr, flush=True)
    return found


def factorisations(rows: int = 1000) -> dict[str, float]:
    """Time of one eigendecomposition, and of the seven factorisations with inverses that a fold takes, on the CPU."""
    a = torch.randn(rows, rows, dtype=torch.float64)
    kernel, unit = a @ a.T / rows + torch.eye(rows), torch.eye(rows, dtype=torch.float64)
    took = {}
    for name, work in (
        ("eigendecomposition_s", lambda: torch.linalg.eigh(kernel)),
        ("seven_factorisations_s", lambda: [_invert(kernel, unit) for _ in range(7)]),
    ):
        work()
        began = time.process_time()
        work()
        took[name] = time.process_time() - began
    return {"rows": rows} | took


def _invert(kernel: torch.Tensor, unit: torch.Tensor) -> torch.Tensor:
    return torch.linalg.solve_triangular(torch.linalg.cholesky_ex(kernel).L, unit, upper=False)


if __name__ == "__main__":
    parser = script_parser(__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--times", action="store_true", help="only measure the time of the least-squares SVM")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    place = torch.device(arguments.device)
    if arguments.times:
        print(json.dumps({"times": times(place)}, indent=1))
    else:
        ranked = []
        for name in SEEDS:
            dataset = load(name)
            ranked.append(summarise(name, [judge(dataset, assignments, place) for assignments in ENCODERS]))
        print(json.dumps({"folds": 10, "one_fold": factorisations(), "datasets": ranked}, indent=1))
