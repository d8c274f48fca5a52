"""The SVM protocol for kernels: kernel matrix and C are chosen together inside the training folds."""

from collections.abc import Sequence

import numpy as np
import torch
from joblib import Parallel, delayed

from nmrgcl.errors import DataError
from nmrgcl.evaluate.cross_validation import INNER_FOLDS, NestedScores, Penalty, penalties, require_foldable
from nmrgcl.evaluate.svm import (
    LIBRARIES,
    Inner,
    ScoreCuts,
    choose_from_table,
    inner_cuts,
    outer_cuts,
    shares_on_host,
)
from nmrgcl.evaluate.svm_on_device import Cut, from_kernels, shares_on_device
from nmrgcl.ops.svm_solver import can_solve


def kernel_nested(
    kernels: np.ndarray,
    y: np.ndarray,
    *,
    seed: int,
    folds: int = 10,
    c: Penalty = "grid",
    inner: Inner = "in_order",
    jobs: int = -1,
    device: torch.device | None = None,
) -> NestedScores:
    """Accuracies in percent on the test folds, and those by which kernel and C were chosen, ``[folds]`` each.

    ``kernels`` ``[K, B, B]`` are symmetric matrices of the same B graphs, for example for several numbers of
    iterations; ``y`` ``[B]`` are class codes. The other arguments are those of ``svm_scores``. Ties go to the first.

    Example:
        >>> import numpy as np
        >>> from nmrgcl import kernel_nested
        >>> y = np.repeat([0, 1], 30)
        >>> kernel = (y[:, None] == y).astype(float)  # graphs of one class are alike
        >>> kernel_nested(kernel[None], y, seed=0, folds=3, c=1.0, jobs=1).outer
        array([100., 100., 100.])
    """
    values = penalties(c)
    count = len(kernels) * len(values)
    _require_kernels(kernels, y, folds, inner=count > 1)
    if device is not None and can_solve(device, len(y)):
        table = _table_on_device(kernels, y, values, device)
        return choose_from_table(table, y, seed=seed, folds=folds, inner=inner, choices=count)
    cuts = outer_cuts(y, seed, folds)
    with Parallel(n_jobs=jobs) as pool:
        chosen, means = np.zeros(folds, np.int64), None
        if count > 1:
            inside = [cut for train, _ in cuts for cut in inner_cuts(y, train, seed if inner == "shuffled" else None)]
            tables = pool(delayed(_accuracies)(kernels, y, *cut, values) for cut in inside)
            means = np.reshape(tables, (folds, INNER_FOLDS, count)).mean(1)
            chosen = means.argmax(1)
        # Choices are ordered by kernel and then by C.
        pairs = [divmod(int(best), len(values)) for best in chosen]
        tasks = (
            delayed(_accuracies)(kernels[k : k + 1], y, *cut, values[n : n + 1])
            for cut, (k, n) in zip(cuts, pairs, strict=True)
        )
        outer = np.reshape(pool(tasks), folds)
    return NestedScores(100 * outer, None if means is None else 100 * means.max(1))


def kernel_table(
    kernels: np.ndarray,
    y: np.ndarray,
    *,
    seed: int,
    folds: int = 10,
    c: Penalty = "grid",
    jobs: int = -1,
    device: torch.device | None = None,
) -> np.ndarray:
    """Accuracies in percent on the test folds for each kernel and C, ``[K, len(C), folds]``, without any choice."""
    values = penalties(c)
    _require_kernels(kernels, y, folds, inner=False)
    cuts = outer_cuts(y, seed, folds)
    if device is not None and can_solve(device, len(y)):
        shares = _table_on_device(kernels, y, values, device)(cuts)
    else:
        with Parallel(n_jobs=jobs) as pool:
            shares = np.array(pool(delayed(_accuracies)(kernels, y, *cut, values) for cut in cuts))
    return 100 * np.moveaxis(shares.reshape(folds, len(kernels), len(values)), 0, 2)


def _table_on_device(kernels: np.ndarray, y: np.ndarray, values: Sequence[float], device: torch.device) -> ScoreCuts:
    """A function from splits to accuracies ``[splits, K len(C)]``, ordered by kernel and then by C."""
    kernels_of = from_kernels(torch.from_numpy(np.ascontiguousarray(kernels)).to(device))
    count, rows = len(kernels), len(y)

    def on_host(train: np.ndarray, test: np.ndarray, c: float) -> float:
        # Row i of kernel k has the number k · rows + i, see from_kernels.
        number = train[0] // rows
        return float(_accuracies(kernels[number : number + 1], y, train % rows, test % rows, (c,))[0])

    def table(cuts: Sequence[Cut]) -> np.ndarray:
        # Row indices as in from_kernels. SVMs that take long often belong to one kernel, so each kernel stays together.
        of_all = [(k * rows + train, k * rows + test) for k in range(count) for train, test in cuts]
        found = shares_on_device(kernels_of, np.tile(y, count), of_all, values, device, on_host)
        return np.moveaxis(found.reshape(count, len(cuts), len(values)), 0, 1).reshape(len(cuts), -1)

    return table


def _require_kernels(kernels: np.ndarray, y: np.ndarray, folds: int, *, inner: bool) -> None:
    if kernels.ndim != 3 or kernels.shape[1:] != (len(y), len(y)) or not len(kernels):
        raise DataError(f"kernels have shape {list(kernels.shape)}: {len(y)} graphs need [any, {len(y)}, {len(y)}]")
    for kernel in kernels:
        require_foldable(kernel, y, folds, inner=inner)


def _accuracies(
    kernels: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray, values: Sequence[float]
) -> np.ndarray:
    """Accuracies on the ``test`` rows as fractions, ordered by kernel and then by C."""
    found = []
    with LIBRARIES.limit(limits=1):
        for kernel in kernels:
            known, unknown = (np.asarray(kernel[np.ix_(rows, train)], np.float64) for rows in (train, test))
            found.append(shares_on_host(known, unknown, y[train], y[test], values))
    return np.concatenate(found)
