"""The SVM protocol against scikit-learn's GridSearchCV: the same scores, how much sooner?

python benchmarks/svm.py [--rows 1500] [--json]      # 6 s; one thread, inline
"""

import argparse
import json
from time import perf_counter

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from nmrgcl.evaluate.svm import GRID, svm_scores

FOLDS = 2


def embeddings(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Three layers of 32 sums a graph as on NCI1: non-negative, correlated, of unequal size; noisy labels."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(rows, 12))
    mixed = hidden @ (rng.normal(size=(12, 96)) * np.geomspace(3, 0.05, 12)[:, None])
    z = np.maximum(mixed + 0.3 * rng.normal(size=mixed.shape), 0) * np.geomspace(20, 0.2, 96)
    y = np.sin(1.5 * hidden[:, :4]).sum(axis=1) + 0.8 * rng.normal(size=rows) > 0
    return z.astype(np.float32), y.astype(int)


def by_grid_search(z: np.ndarray, y: np.ndarray, standardise: bool) -> np.ndarray:
    pipeline, name = (make_pipeline(StandardScaler(), SVC()), "svc__C") if standardise else (SVC(), "C")
    search = GridSearchCV(pipeline, {name: GRID}, cv=5)
    splits = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(z, y)
    return np.array([100 * search.fit(z[train], y[train]).score(z[test], y[test]) for train, test in splits])


def compare(rows: int, standardise: bool) -> dict[str, float]:
    z, y = embeddings(rows)
    with threadpool_limits(1):
        start = perf_counter()
        ours = svm_scores(z, y, seed=0, folds=FOLDS, standardise=standardise, jobs=1)
        middle = perf_counter()
        theirs = by_grid_search(z, y, standardise)
        end = perf_counter()
    assert np.array_equal(ours, theirs), f"scores differ: {ours} and {theirs}"
    seconds, reference = middle - start, end - middle
    return {
        "rows": rows,
        "standardise": standardise,
        "accuracy": round(float(ours.mean()), 2),
        "seconds": round(seconds, 2),
        "grid_search_seconds": round(reference, 2),
        "ratio": round(reference / seconds, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    for result in (compare(options.rows, standardise) for standardise in (True, False)):
        print(json.dumps(result) if options.json else "  ".join(f"{k} {v}" for k, v in result.items()))


if __name__ == "__main__":
    main()
