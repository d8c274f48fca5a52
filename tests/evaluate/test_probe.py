"""The linear probe: scikit-learn's models on standardised embeddings, C chosen on the validation part."""

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import mean_absolute_error, mean_squared_error, roc_auc_score

from nmrgcl.evaluate.fingerprints import PENALTIES
from nmrgcl.evaluate.probe import fit_probe
from tests.evaluate.test_fingerprints import Split

CHANCE = np.random.default_rng(1)
Z = (CHANCE.normal(size=(120, 6)) * [1, 10, 0.1, 1, 1, 1] + 3).astype(np.float32)
NUMBERS = np.stack([Z[:, 0] + 10 * Z[:, 2], Z[:, 1] / 10], 1) + 0.5 * CHANCE.normal(size=(120, 2))
NUMBERS[CHANCE.random(NUMBERS.shape) < 0.2] = np.nan
BINARY = np.where(np.isnan(NUMBERS), np.nan, np.nanmean(NUMBERS, 0) < NUMBERS)
SPLIT = Split(np.arange(80), np.arange(80, 100), np.arange(100, 120))


def expected(y: np.ndarray, c: float, goal: str) -> np.ndarray:
    """``[120, T]`` what scikit-learn's models with that C say."""
    mean, spread = Z[SPLIT.train].mean(0), Z[SPLIT.train].std(0)
    x, outputs = (Z - mean) / spread, []
    for column in y.T:
        known = SPLIT.train[~np.isnan(column[SPLIT.train])]
        model: Any = LogisticRegression(C=c, tol=1e-10) if goal == "binary" else Ridge(alpha=1 / c)
        model.fit(x[known], column[known])
        outputs.append(model.decision_function(x) if goal == "binary" else model.predict(x))
    return np.stack(outputs, 1)


def mean_over_tasks(metric: Any, made: np.ndarray, y: np.ndarray, part: np.ndarray) -> float:
    scores = []
    for task in range(y.shape[1]):
        known = part[~np.isnan(y[part, task])]
        scores.append(metric(y[known, task], made[known, task]))
    return float(np.mean(scores))


@pytest.mark.parametrize(("goal", "y"), [("binary", BINARY), ("numbers", NUMBERS)])
def test_the_probe_is_the_best_of_scikit_learn_s_on_the_validation_part(goal: str, y: np.ndarray) -> None:
    found = fit_probe(torch.from_numpy(Z), y, SPLIT, goal)
    made = {c: expected(y, c, goal) for c in PENALTIES}
    if goal == "binary":
        scores = {c: 100 * mean_over_tasks(roc_auc_score, made[c], y, SPLIT.valid) for c in PENALTIES}
        best = max(PENALTIES, key=lambda c: scores[c])
        test = 100 * mean_over_tasks(roc_auc_score, made[best], y, SPLIT.test)
    else:

        def rmse(truth: np.ndarray, said: np.ndarray) -> float:
            return float(np.sqrt(mean_squared_error(truth, said)))

        scores = {c: mean_over_tasks(rmse, made[c], y, SPLIT.valid) for c in PENALTIES}
        best = min(PENALTIES, key=lambda c: scores[c])
        test = mean_over_tasks(rmse, made[best], y, SPLIT.test)
        assert found.beside["mae"] == pytest.approx(
            mean_over_tasks(mean_absolute_error, made[best], y, SPLIT.test), rel=1e-4
        )
    assert (found.chosen, found.valid, found.test) == (
        best,
        pytest.approx(scores[best], rel=1e-4),
        pytest.approx(test, rel=1e-4),
    )
    outputs = Z @ found.weight.numpy().T + found.bias.numpy()
    np.testing.assert_allclose(outputs, made[best], atol=2e-3)


def test_a_task_of_one_class_in_training_has_no_weights() -> None:
    y = np.stack([BINARY[:, 0], np.ones(120)], 1)
    found = fit_probe(torch.from_numpy(Z), y, SPLIT, "binary")
    assert not found.weight[1].any()
    assert found.weight[0].any()
