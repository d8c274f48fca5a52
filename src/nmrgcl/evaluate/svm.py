"""The SVM protocol: RBF support vector machines on frozen embeddings, stratified cross-validation.

Scores equal those of scikit-learn's ``GridSearchCV`` over ``SVC``, but the kernel of a training set is
computed once for all values of C, and the parts of all embeddings share the processor's cores.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import ThreadpoolController

from nmrgcl.evaluate.cases import INNER_FOLDS, Nested, Penalty, candidates, require_cases

LIBRARIES = ThreadpoolController()  # found once: the search takes longer than a small fit

Inner = Literal["in_order", "shuffled"]


def svm_scores(
    z: np.ndarray,
    y: np.ndarray,
    *,
    seed: int,
    folds: int = 10,
    c: Penalty = "grid",
    standardise: bool = True,
    inner: Inner = "in_order",
    jobs: int = -1,
) -> np.ndarray:
    """Accuracy in percent on each held-out fold, ``[folds]``, of embeddings ``z`` ``[B, D]`` with labels ``y`` ``[B]``.

    Args:
        z: finite embeddings, one row a graph.
        y: class codes.
        seed: of the shuffle that makes the folds.
        folds: how many; every class needs at least as many members.
        c: "grid" chooses from ``GRID`` by cross-validation inside the training folds, the smallest of equals;
            "default" is 1; a number is taken as it is.
        standardise: bring each column to mean 0 and variance 1 as measured on the training rows.
        inner: how the folds that choose C are cut: "in_order" as ``GridSearchCV(cv=5)`` does; "shuffled" by the seed,
            as ``GridSearchCV(cv=StratifiedKFold(5, shuffle=True, random_state=seed))`` does. Where rows stand in a
            meaningful order, as the molecules of NCI1 do, in-order folds differ from the folds that are judged, and
            C is chosen for a harder problem than the one it is used on.
        jobs: processes, -1 for one a core; 1 stays in this process.
    """
    return svm_scores_many([(z, y, seed)], folds=folds, c=c, standardise=standardise, inner=inner, jobs=jobs)[0]


def svm_scores_many(
    cases: Sequence[tuple[np.ndarray, np.ndarray, int]],
    *,
    folds: int = 10,
    c: Penalty = "grid",
    standardise: bool = True,
    inner: Inner = "in_order",
    jobs: int = -1,
) -> np.ndarray:
    """``svm_scores`` of many ``(z, y, seed)``, ``[S, folds]``; all their parts run in parallel."""
    return svm_nested(cases, folds=folds, c=c, standardise=standardise, inner=inner, jobs=jobs).outer


def svm_nested(
    cases: Sequence[tuple[np.ndarray, np.ndarray, int]],
    *,
    folds: int = 10,
    c: Penalty = "grid",
    standardise: bool = True,
    inner: Inner = "in_order",
    jobs: int = -1,
) -> Nested:
    """``svm_scores_many`` beside the mean over the inner folds at the C that was chosen, ``[S, folds]`` each.

    The latter is ``best_score_`` of ``GridSearchCV``, in percent.
    """
    values = candidates(c)
    for z, y, _ in cases:
        require_cases(z, y, folds, inner=len(values) > 1)
    outer, seeds = [], []
    for z, y, seed in cases:
        outer += [(z, y, *cut) for cut in StratifiedKFold(folds, shuffle=True, random_state=seed).split(y, y)]
        seeds += [seed if inner == "shuffled" else None] * folds
    # Within one pool, joblib writes each large array to shared memory once and hands out the mapping.
    with Parallel(n_jobs=jobs) as pool:
        if len(values) == 1:
            chosen, means = list(values) * len(outer), None
        else:
            parts = [p for (z, y, train, _), s in zip(outer, seeds, strict=True) for p in _inner_parts(z, y, train, s)]
            found = pool(delayed(_accuracies)(*part, values, standardise) for part in parts)
            tables = np.reshape(found, (len(outer), INNER_FOLDS, len(values)))
            means = tables.mean(axis=1)
            chosen = [_best(values, table) for table in tables]
        judged = zip(outer, chosen, strict=True)
        scores = pool(delayed(_accuracies)(*part, (value,), standardise) for part, value in judged)
    shape = len(cases), folds
    return Nested(100 * np.reshape(scores, shape), None if means is None else 100 * means.max(axis=1).reshape(shape))


def _accuracies(
    z: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray, values: Sequence[float], standardise: bool
) -> np.ndarray:
    """Share of the ``test`` rows that the SVM fitted on the ``train`` rows gets right, for each C in ``values``."""
    # Two threads on a core that has other work are several times slower than one.
    with LIBRARIES.limit(limits=1):
        known, unknown = z[train], z[test]
        if standardise:
            scaler = StandardScaler().fit(known)
            known, unknown = scaler.transform(known), scaler.transform(unknown)
        kernel, kernel_test = _kernels(known, unknown)
        cache = 64 + kernel.size * 4 / 2**20  # MiB: LIBSVM keeps every entry it has used, in single precision
        models = (SVC(C=value, kernel="precomputed", cache_size=cache).fit(kernel, y[train]) for value in values)
        return np.array([np.mean(model.predict(kernel_test) == y[test]) for model in models])


def _kernels(known: np.ndarray, unknown: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """RBF kernels ``[n, n]`` and ``[m, n]``, gamma="scale" of the ``n`` known rows.

    Computed anew for each training set: distances kept for a whole embedding of 96 columns would save 2 % of the
    time where columns are not standardised, for ``8 B²`` bytes an embedding.
    """
    known, unknown = known.astype(np.float64), unknown.astype(np.float64)
    variance = known.var()
    gamma = 1.0 / (known.shape[1] * variance) if variance != 0 else 1.0
    # Distances by matrix product lose digits far from the origin, all of them where rows are constant.
    origin = known.mean(axis=0)
    known -= origin
    unknown -= origin
    return rbf_kernel(known, gamma=gamma), rbf_kernel(unknown, known, gamma=gamma)


def _inner_parts(
    z: np.ndarray, y: np.ndarray, train: np.ndarray, seed: int | None
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """The training rows cut again, in order or by ``seed``, so that C is chosen without a look at the held-out ones."""
    labels = y[train]
    cut = StratifiedKFold(INNER_FOLDS, shuffle=seed is not None, random_state=seed).split(labels, labels)
    return [(z, y, train[a], train[b]) for a, b in cut]


def _best(values: Sequence[float], accuracies: np.ndarray) -> float:
    """The first of ``values`` with the highest mean of ``accuracies`` ``[INNER_FOLDS, len(values)]``."""
    return values[int(np.argmax(accuracies.mean(axis=0)))]
