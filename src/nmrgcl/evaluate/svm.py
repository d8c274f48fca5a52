"""The SVM protocol: RBF support vector machines on frozen embeddings with stratified cross-validation.

Scores equal those of scikit-learn's ``GridSearchCV`` over ``SVC``, but the kernel of a training set is computed once
for all values of C, and the folds of all embeddings run in parallel. A GPU solves all SVMs of an embedding at once.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
import torch
from joblib import Parallel, cpu_count, delayed
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from threadpoolctl import ThreadpoolController

from nmrgcl.evaluate.cross_validation import INNER_FOLDS, NestedScores, Penalty, Watch, penalties, require_foldable
from nmrgcl.evaluate.rbf import Scaling
from nmrgcl.evaluate.svm_on_device import Cut, from_embeddings, shares_on_device
from nmrgcl.ops.svm_solver import can_solve, predict_classes

SECONDS_TO_START = 4.0
"""What it takes to start processes, which import every library anew."""
LIBRARIES = ThreadpoolController()  # Created once, because finding the libraries takes longer than a small fit.

Inner = Literal["in_order", "shuffled"]
LabelledRows = tuple[np.ndarray, np.ndarray, int]
"""Embeddings ``[B, D]``, class codes ``[B]``, and the seed of the folds."""
ScoreCuts = Callable[[Sequence[Cut]], np.ndarray]
"""A function from splits to accuracies as fractions, ``[splits, choices]``."""


def svm_scores(
    z: np.ndarray,
    y: np.ndarray,
    *,
    seed: int,
    folds: int = 10,
    c: Penalty = "grid",
    standardise: Scaling = True,
    inner: Inner = "in_order",
    jobs: int = -1,
    device: torch.device | None = None,
) -> np.ndarray:
    """Accuracy in percent on each test fold, ``[folds]``, of embeddings ``z`` ``[B, D]`` with labels ``y`` ``[B]``.

    Args:
        z: finite embeddings, one row per graph.
        y: class codes.
        seed: the seed of the folds.
        folds: the number of folds; every class needs at least as many members.
        c: "grid" chooses from ``GRID`` by cross-validation inside the training folds, with ties going to the smallest;
            "fine" chooses from a grid with a third of its step size; "default" is 1; a number is used as it is.
        standardise: scale each column to mean 0 and variance 1 on the training rows; see ``Scaling``.
        inner: how the inner folds that choose C are made: "in_order" as by ``GridSearchCV(cv=5)``; "shuffled" as by
            ``GridSearchCV(cv=StratifiedKFold(5, shuffle=True, random_state=seed))``. If the order of rows is
            meaningful, as in NCI1, in-order folds differ systematically from the outer folds, and C is chosen for a
            harder problem than the one it is used on.
        jobs: the number of processes; -1 for one per core, if there is enough to do; 1 stays in this process.
        device: a GPU to solve the SVMs on; otherwise the processor does.

    Example:
        >>> import numpy as np
        >>> from nmrgcl import svm_scores
        >>> y = np.repeat([0, 1], 30)
        >>> z = np.random.default_rng(0).normal(size=(60, 4)) + 10 * y[:, None]  # two classes far apart
        >>> svm_scores(z, y, seed=0, folds=3, c=1.0, jobs=1)
        array([100., 100., 100.])
    """
    options: dict[str, Any] = {"folds": folds, "c": c, "standardise": standardise, "inner": inner, "jobs": jobs}
    return svm_nested([(z, y, seed)], **options, device=device).outer[0]


def svm_nested(
    cases: Sequence[LabelledRows],
    *,
    folds: int = 10,
    c: Penalty = "grid",
    standardise: Scaling = True,
    inner: Inner = "in_order",
    jobs: int = -1,
    device: torch.device | None = None,
    watch: Watch | None = None,
) -> NestedScores:
    """``svm_scores`` of many cases together with the mean inner accuracy at the chosen C, ``[S, folds]`` each.

    The latter is ``best_score_`` of ``GridSearchCV`` in percent. All folds of all cases run in parallel. ``watch`` is
    called after each fold on a processor.
    """
    values = penalties(c)
    for z, y, _ in cases:
        require_foldable(z, y, folds, inner=len(values) > 1)
    if device is not None and all(can_solve(device, len(z)) for z, _, _ in cases):
        found = []
        for z, y, seed in cases:
            table = _table_on_device(z, y, values, standardise, device)
            found.append(choose_from_table(table, y, seed=seed, folds=folds, inner=inner, choices=len(values)))
        inside = None if len(values) == 1 else np.array([one.inner for one in found])
        return NestedScores(np.array([one.outer for one in found]), inside, np.array([one.chosen for one in found]))
    outer, seeds = [], []
    for z, y, seed in cases:
        outer += [(z, y, *cut) for cut in outer_cuts(y, seed, folds)]
        seeds += [seed if inner == "shuffled" else None] * folds
    total = len(outer) * (1 if len(values) == 1 else 1 + INNER_FOLDS)
    if jobs == -1 and not processes_help(expected_seconds([len(z) for z, *_ in outer], len(values)), cpu_count()):
        jobs = 1
    # Within one pool, joblib writes each large array to shared memory only once.
    with Parallel(n_jobs=jobs, return_as="generator") as pool:
        if len(values) == 1:
            chosen, means = np.zeros(len(outer), np.int64), None
        else:
            parts = [
                (z, y, *cut)
                for (z, y, train, _), s in zip(outer, seeds, strict=True)
                for cut in inner_cuts(y, train, s)
            ]
            tasks = (delayed(_accuracies)(*part, values, standardise) for part in parts)
            inner_scores = watched(pool(tasks), watch, 0, total)
            means = np.reshape(inner_scores, (len(outer), INNER_FOLDS, len(values))).mean(axis=1)
            chosen = _best(means)
        judged = zip(outer, chosen, strict=True)
        tasks = (delayed(_accuracies)(*part, (values[best],), standardise) for part, best in judged)
        scores = watched(pool(tasks), watch, total - len(outer), total)
    shape = len(cases), folds
    inside = None if means is None else 100 * means.max(axis=1).reshape(shape)
    return NestedScores(100 * np.reshape(scores, shape), inside, chosen.reshape(shape))


def expected_seconds(rows: Sequence[int], choices: int) -> float:
    """A rough estimate for one core, from MUTAG and PROTEINS; ``rows`` has the number of rows of each outer fold."""
    fits = 1 if choices == 1 else 1 + INNER_FOLDS * choices
    return sum(fits * (1.5e-3 + 1.1e-8 * count**2) for count in rows)


def processes_help(seconds: float, cores: int) -> bool:
    """True if work that takes ``seconds`` on one core ends earlier on all of them, start of processes included."""
    return SECONDS_TO_START + seconds / cores < seconds


def watched(scores: Iterable[np.ndarray], watch: Watch | None, before: int, total: int) -> list[np.ndarray]:
    """All ``scores``, with a call of ``watch`` for each; ``before`` is how many others are done."""
    found = []
    for score in scores:
        found.append(score)
        if watch is not None:
            watch(before + len(found), total)
    return found


def svm_predictions(
    z: np.ndarray, y: np.ndarray, *, seed: int, penalties: Sequence[float], standardise: Scaling = True
) -> np.ndarray:
    """``[B]`` the class of each row, predicted by the SVM of the fold that tests it; ``penalties`` has a C per fold."""
    predicted = np.empty_like(y)
    for (train, test), c in zip(outer_cuts(y, seed, len(penalties)), penalties, strict=True):
        kernel, kernel_test = _kernels(*_scaled(z[train], z[test], standardise))
        predicted[test] = predict_classes(kernel, kernel_test, y[train], (c,))[0]
    return predicted


def svm_table(
    z: np.ndarray,
    y: np.ndarray,
    *,
    seed: int,
    folds: int = 10,
    c: Penalty = "grid",
    standardise: Scaling = True,
    jobs: int = -1,
    device: torch.device | None = None,
) -> np.ndarray:
    """Accuracies in percent on the test folds for each C, ``[len(C), folds]``, without any choice."""
    values = penalties(c)
    require_foldable(z, y, folds, inner=False)
    cuts = outer_cuts(y, seed, folds)
    if device is not None and can_solve(device, len(z)):
        return 100 * _table_on_device(z, y, values, standardise, device)(cuts).T
    with Parallel(n_jobs=jobs) as pool:
        return 100 * np.array(pool(delayed(_accuracies)(z, y, *cut, values, standardise) for cut in cuts)).T


def choose_from_table(
    table: ScoreCuts, y: np.ndarray, *, seed: int, folds: int, inner: Inner, choices: int
) -> NestedScores:
    """Scores of the outer folds, ``[folds]``, where the inner folds choose among the columns of ``table``.

    All ``choices`` are also computed for the outer folds, which costs next to nothing on a GPU.
    """
    cuts = outer_cuts(y, seed, folds)
    if choices == 1:
        return NestedScores(100 * table(cuts)[:, 0], None, np.zeros(folds, np.int64))
    inner_seed = seed if inner == "shuffled" else None
    inside = [cut for train, _ in cuts for cut in inner_cuts(y, train, inner_seed)]
    # All splits in one call, so that the device solves their machines together.
    shares = table([*cuts, *inside])
    means = shares[folds:].reshape(folds, INNER_FOLDS, choices).mean(1)
    chosen = _best(means)
    return NestedScores(100 * shares[np.arange(folds), chosen], 100 * means.max(1), chosen)


def _table_on_device(
    z: np.ndarray, y: np.ndarray, values: Sequence[float], standardise: Scaling, device: torch.device
) -> ScoreCuts:
    kernels_of = from_embeddings(torch.from_numpy(z).to(device), standardise=standardise)

    def on_host(train: np.ndarray, test: np.ndarray, c: float) -> float:
        return float(_accuracies(z, y, train, test, (c,), standardise)[0])

    return lambda cuts: shares_on_device(kernels_of, y, cuts, values, device, on_host)


def _accuracies(
    z: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray, values: Sequence[float], standardise: Scaling
) -> np.ndarray:
    """Accuracy as a fraction on the ``test`` rows of an SVM fitted to the ``train`` rows, for each C in ``values``."""
    # One thread, because two threads on a busy core are several times slower than one.
    with LIBRARIES.limit(limits=1):
        kernels = _kernels(*_scaled(z[train], z[test], standardise))
        return shares_on_host(*kernels, y[train], y[test], values)


def _scaled(known: np.ndarray, unknown: np.ndarray, standardise: Scaling) -> tuple[np.ndarray, np.ndarray]:
    if standardise:
        scaler = StandardScaler().fit(known)
        known, unknown = scaler.transform(known), scaler.transform(unknown)
    if standardise == "squashed":
        known, unknown = np.arcsinh(known), np.arcsinh(unknown)
    return known, unknown


def shares_on_host(
    kernel: np.ndarray, kernel_test: np.ndarray, y: np.ndarray, y_test: np.ndarray, values: Sequence[float]
) -> np.ndarray:
    """Accuracy as a fraction on the ``m`` test rows for each C; the kernels are ``[n, n]`` and ``[m, n]``."""
    return (predict_classes(kernel, kernel_test, y, values) == y_test).mean(axis=1)


def _kernels(known: np.ndarray, unknown: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """RBF kernels ``[n, n]`` and ``[m, n]`` with gamma="scale" of the ``n`` known rows.

    They are recomputed for each training set: caching the distances of an embedding with 96 columns would save some 7 %
    of the time, and only without standardisation, but take ``8 B²`` bytes per embedding.
    """
    known, unknown = known.astype(np.float64), unknown.astype(np.float64)
    variance = known.var()
    gamma = 1.0 / (known.shape[1] * variance) if variance != 0 else 1.0
    # Distances by matrix product lose digits far from the origin, so centre the rows first.
    origin = known.mean(axis=0)
    known -= origin
    unknown -= origin
    return rbf_kernel(known, gamma=gamma), rbf_kernel(unknown, known, gamma=gamma)


def outer_cuts(y: np.ndarray, seed: int, folds: int) -> list[Cut]:
    """Training and test rows of each stratified fold."""
    return list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(y, y))


def inner_cuts(y: np.ndarray, train: np.ndarray, seed: int | None) -> list[Cut]:
    """Inner folds of the training rows, in order or shuffled by ``seed``, for choosing C without the test rows."""
    labels = y[train]
    cut = StratifiedKFold(INNER_FOLDS, shuffle=seed is not None, random_state=seed).split(labels, labels)
    return [(train[a], train[b]) for a, b in cut]


def _best(means: np.ndarray) -> np.ndarray:
    """``[N]`` the index of the highest mean in each row ``[N, choices]``; ties go to the first."""
    return means.argmax(axis=1)
