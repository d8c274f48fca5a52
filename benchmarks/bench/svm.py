"""The SVM protocol compared with scikit-learn's GridSearchCV, which gives the same scores."""

from collections.abc import Callable, Sequence
from time import process_time

import numpy as np
import torch
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bench.graphs_at_hand import load_graphs
from bench.table import Row
from bench.timing import row
from nmrgcl.errors import DataError
from nmrgcl.evaluate.cross_validation import GRID, INNER_FOLDS
from nmrgcl.evaluate.svm import svm_scores
from nmrgcl.methods import build_method
from nmrgcl.settings import resolve
from nmrgcl.train import pretrain

FOLDS = 2


def svm_rows(names: Sequence[str] = (), *, rows: int = 1500, folds: int = FOLDS, repeats: int = 3) -> list[Row]:
    """Rows for trained embeddings of each dataset; without ``names``, for ``rows`` synthetic embeddings."""
    cases = {name: trained(name) for name in names} or {f"{rows} made-up embeddings": made_up(rows)}
    found = []
    for name, (z, y) in cases.items():
        for standardise in (True, False):
            ours, theirs, _ = compare(z, y, standardise=standardise, folds=folds, repeats=repeats)
            label = "standardised" if standardise else "raw"
            found.append(row(f"{name}, {label}: {folds} folds, to GridSearchCV", "s", ours, theirs))
    return found


def compare(
    z: np.ndarray, y: np.ndarray, *, standardise: bool, folds: int = FOLDS, repeats: int = 1
) -> tuple[list[float], list[float], np.ndarray]:
    """CPU seconds of ours and of scikit-learn, measured in turn, and the scores of the folds, which must be equal."""
    ours, theirs = [], []
    for _ in range(repeats):
        seconds, scores = _timed(lambda: svm_scores(z, y, seed=0, folds=folds, standardise=standardise, jobs=1))
        ours.append(seconds)
        seconds, expected = _timed(lambda: by_grid_search(z, y, standardise, folds))
        theirs.append(seconds)
    if not np.array_equal(scores, expected):
        raise DataError(f"the SVM scores {scores.tolist()} are not scikit-learn's {expected.tolist()}; report it")
    return ours, theirs, scores


def by_grid_search(z: np.ndarray, y: np.ndarray, standardise: bool, folds: int = FOLDS) -> np.ndarray:
    """The protocol in plain scikit-learn: accuracy in percent on each fold."""
    pipeline, name = (make_pipeline(StandardScaler(), SVC()), "svc__C") if standardise else (SVC(), "C")
    search = GridSearchCV(pipeline, {name: GRID}, cv=INNER_FOLDS)
    splits = StratifiedKFold(folds, shuffle=True, random_state=0).split(z, y)
    return np.array([100 * search.fit(z[train], y[train]).score(z[test], y[test]) for train, test in splits])


def made_up(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Embeddings like three layers of 32 sums on NCI1 (non-negative, correlated, unequal), and noisy labels."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(rows, 12))
    mixed = hidden @ (rng.normal(size=(12, 96)) * np.geomspace(3, 0.05, 12)[:, None])
    z = np.maximum(mixed + 0.3 * rng.normal(size=mixed.shape), 0) * np.geomspace(20, 0.2, 96)
    y = np.sin(1.5 * hidden[:, :4]).sum(axis=1) + 0.8 * rng.normal(size=rows) > 0
    return z.astype(np.float32), y.astype(int)


def trained(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Embeddings and classes of a dataset after training with the preset ``graphcl`` on the CPU."""
    graphs = load_graphs(name, torch.device("cpu"))
    if graphs.y is None or graphs.y_level != "graph":
        raise DataError(f"{name}: has no graph classes; choose another dataset")
    settings = resolve("graphcl")
    method = build_method(settings, graphs.num_features)
    for _ in pretrain(method, graphs, settings.train):
        pass
    with torch.no_grad():
        return method.eval().embed(graphs).numpy(), graphs.y.numpy()


def _timed(work: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    began = process_time()
    scores = work()
    return process_time() - began, scores
