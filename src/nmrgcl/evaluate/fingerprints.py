"""Baselines on fingerprints: a random forest or a linear model per task, the usual first choice of chemists.

They are evaluated like fine-tuned encoders, on the same splits with the same metrics. The number of trees, or C, is
chosen on the validation data, with one value for all tasks, because rare tasks have too few labels for a choice.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from joblib import Parallel, delayed
from scipy.sparse import csc_matrix, csr_matrix
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge

from nmrgcl.data.splits import Split
from nmrgcl.errors import DataError
from nmrgcl.evaluate.goals import GOALS

TREES = (100, 300)
PENALTIES = (0.01, 0.1, 1.0, 10.0)
"""Values of C for logistic regression, and of 1 / alpha for ridge regression."""


@dataclass(frozen=True)
class FingerprintScore:
    """Scores with the number of trees, or the C, that was best on the validation data; ties go to the first.

    They are mean ROC-AUCs in percent or mean RMSEs; ``beside`` holds the other metrics of the goal on the test data.
    """

    test: float
    valid: float
    chosen: float
    beside: dict[str, float] = field(default_factory=dict)


def fingerprint_score(
    bits: np.ndarray,
    y: np.ndarray,
    split: Split,
    *,
    model: Literal["forest", "linear"],
    goal: Literal["binary", "numbers"] = "binary",
    seed: int = 0,
    jobs: int = 1,
) -> FingerprintScore:
    """Fit a model per task on the training data and score all of them on the test data.

    Args:
        bits: ``[M, K]`` fingerprints.
        y: ``[M, T]`` labels, NaN where one is missing.
        split: rows for training, validation and test.
        model: a random forest, or a linear model: logistic regression or, for numbers, ridge regression.
        goal: the kind of labels.
        seed: the seed of the forests.
        jobs: how many tasks are fitted at a time; -1 for one per core.
    """
    aim, y = GOALS[goal], np.asarray(y, float)
    aim.require(y, split)
    if bits.ndim != 2 or len(bits) != len(y):
        raise DataError(
            f"{list(bits.shape)} fingerprints and {list(y.shape)} labels: pass one row of each per molecule"
        )
    fit, values = (_forest, TREES) if model == "forest" else (_linear, PENALTIES)
    # All tasks share these two arrays, so that joblib sends them to the worker processes only once.
    learnt, judged = bits[split.train], bits[np.concatenate([split.valid, split.test])]
    columns = Parallel(n_jobs=jobs)(
        delayed(_task)(fit, learnt, labels, judged, goal, values, seed) for labels in y[split.train].T
    )
    outputs, truth = torch.from_numpy(np.stack(columns, 2)), torch.from_numpy(y)  # [values, judged, tasks]
    validated, tested = outputs.split([len(split.valid), len(split.test)], 1)
    merits = [float(aim.merit(made, truth[split.valid])) for made in validated]
    best = int(np.argmax(merits))
    test, beside = aim.scores(tested[best], truth[split.test])
    return FingerprintScore(test, aim.unit * merits[best], float(values[best]), beside)


def _task(
    fit: Callable[..., np.ndarray],
    x: np.ndarray,
    y: np.ndarray,
    judged: np.ndarray,
    goal: str,
    values: Sequence[float],
    seed: int,
) -> np.ndarray:
    """Predictions ``[values, len(judged)]`` with each of the ``values``.

    If all labels of the task are equal, the predictions are constant.
    """
    known = ~np.isnan(y)
    if len(np.unique(y[known])) < 2:
        return np.full((len(values), len(judged)), y[known].mean() if known.any() else 0.0)
    return fit(x[known].astype(float), y[known], judged.astype(float), goal, values, seed)


def _forest(
    x: np.ndarray, y: np.ndarray, judged: np.ndarray, goal: str, values: Sequence[int], seed: int
) -> np.ndarray:
    """Fit the largest forest only; a smaller one consists of its first trees."""
    kind: Any = RandomForestClassifier if goal == "binary" else RandomForestRegressor
    # Most bits are zero: a sparse matrix gives the same trees in a quarter of the time.
    forest = kind(max(values), random_state=seed, max_features="sqrt").fit(csc_matrix(x), y)
    # In the trees' own type and without their checks, which would take longer than the predictions.
    judged = judged.astype(np.float32)
    each = [
        tree.predict_proba(judged, check_input=False)[:, 1] if goal == "binary" else tree.predict(judged, False)
        for tree in forest.estimators_
    ]
    return np.stack([np.mean(each[:count], 0) for count in values])


def _linear(
    x: np.ndarray, y: np.ndarray, judged: np.ndarray, goal: str, values: Sequence[float], seed: int
) -> np.ndarray:
    """Fit ridge or logistic regression; their solutions are unique, so ``seed`` has no effect."""
    if goal == "numbers":
        return np.stack([Ridge(alpha=1 / c).fit(x, y).predict(judged) for c in values])
    rows = csr_matrix(x)  # Most bits are zero.
    fitted = [LogisticRegression(C=c, max_iter=1000).fit(rows, y) for c in values]
    # Both metrics of binary tasks depend only on the order of the outputs, so probabilities are not needed.
    return np.stack([one.decision_function(judged) for one in fitted])
