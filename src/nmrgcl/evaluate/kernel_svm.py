"""The SVM protocol for kernels: the matrix and C are chosen together inside the training folds."""

from collections.abc import Sequence

import numpy as np
from joblib import Parallel, delayed
from sklearn.svm import SVC

from nmrgcl.errors import DataError
from nmrgcl.evaluate.cases import INNER_FOLDS, Nested, Penalty, candidates, require_cases
from nmrgcl.evaluate.svm import LIBRARIES, Inner, inner_cuts, outer_cuts


def kernel_nested(
    kernels: np.ndarray,
    y: np.ndarray,
    *,
    seed: int,
    folds: int = 10,
    c: Penalty = "grid",
    inner: Inner = "in_order",
    jobs: int = -1,
) -> Nested:
    """Accuracies in percent on the held-out folds, and those by which kernel and C were chosen, ``[folds]`` each.

    ``kernels`` ``[K, B, B]`` are symmetric matrices of the same B graphs, for example of several numbers of iterations;
    ``y`` ``[B]`` are class codes. The other arguments are those of ``svm_scores``. The first of equals is chosen.
    """
    values = candidates(c)
    count = len(kernels) * len(values)
    _require_kernels(kernels, y, folds, inner=count > 1)
    cuts = outer_cuts(y, seed, folds)
    with Parallel(n_jobs=jobs) as pool:
        chosen, means = np.zeros(folds, np.int64), None
        if count > 1:
            inside = [cut for train, _ in cuts for cut in inner_cuts(y, train, seed if inner == "shuffled" else None)]
            tables = pool(delayed(_accuracies)(kernels, y, *cut, values) for cut in inside)
            means = np.reshape(tables, (folds, INNER_FOLDS, count)).mean(1)
            chosen = means.argmax(1)
        pairs = [divmod(int(best), len(values)) for best in chosen]
        tasks = (
            delayed(_accuracies)(kernels[k : k + 1], y, *cut, values[n : n + 1])
            for cut, (k, n) in zip(cuts, pairs, strict=True)
        )
        outer = np.reshape(pool(tasks), folds)
    return Nested(100 * outer, None if means is None else 100 * means.max(1))


def kernel_table(
    kernels: np.ndarray, y: np.ndarray, *, seed: int, folds: int = 10, c: Penalty = "grid", jobs: int = -1
) -> np.ndarray:
    """Accuracies in percent on the held-out folds for each kernel and C, ``[K, len(C), folds]``: nothing is chosen."""
    values = candidates(c)
    _require_kernels(kernels, y, folds, inner=False)
    with Parallel(n_jobs=jobs) as pool:
        tables = pool(delayed(_accuracies)(kernels, y, *cut, values) for cut in outer_cuts(y, seed, folds))
    return 100 * np.moveaxis(np.reshape(tables, (folds, len(kernels), len(values))), 0, 2)


def _require_kernels(kernels: np.ndarray, y: np.ndarray, folds: int, *, inner: bool) -> None:
    if kernels.ndim != 3 or kernels.shape[1:] != (len(y), len(y)) or not len(kernels):
        raise DataError(f"kernels have shape {list(kernels.shape)}: {len(y)} graphs need [any, {len(y)}, {len(y)}]")
    for kernel in kernels:
        require_cases(kernel, y, folds, inner=inner)


def _accuracies(
    kernels: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray, values: Sequence[float]
) -> np.ndarray:
    """Shares of the ``test`` rows that are right, kernel by kernel and for each C in turn."""
    found = []
    with LIBRARIES.limit(limits=1):
        for kernel in kernels:
            known, unknown = (np.asarray(kernel[np.ix_(rows, train)], np.float64) for rows in (train, test))
            cache = 64 + known.size * 4 / 2**20
            for value in values:
                model = SVC(C=value, kernel="precomputed", cache_size=cache).fit(known, y[train])
                found.append(np.mean(model.predict(unknown) == y[test]))
    return np.array(found)
