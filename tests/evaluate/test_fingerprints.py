"""Forests and linear models on fingerprints: they are scikit-learn's, and no test label chooses anything."""

from typing import Any, Literal

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import average_precision_score, mean_absolute_error, mean_squared_error, roc_auc_score

from nmrgcl.data.splits import Split
from nmrgcl.errors import DataError
from nmrgcl.evaluate import fingerprints
from nmrgcl.evaluate.fingerprints import fingerprint_score

NAN = float("nan")
CHANCE = np.random.default_rng(0)
BITS = (CHANCE.random((120, 40)) < 0.2).astype(np.uint8)
NUMBERS = np.stack([BITS[:, 0] + BITS[:, 1], BITS[:, 2] - BITS[:, 3].astype(float)], 1)
NUMBERS = NUMBERS + 0.3 * CHANCE.normal(size=NUMBERS.shape)
NUMBERS[CHANCE.random(NUMBERS.shape) < 0.2] = NAN
BINARY = np.where(np.isnan(NUMBERS), NAN, NUMBERS > 0.3)


SPLIT = Split(np.arange(80), np.arange(80, 100), np.arange(100, 120))
MODELS: tuple[Literal["forest", "linear"], ...] = ("forest", "linear")


@pytest.fixture(autouse=True)
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprints, "TREES", (5, 20))


def rows(y: np.ndarray, part: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fingerprints and labels of ``part`` where the label is present."""
    known = part[~np.isnan(y[part])]
    return BITS[known], y[known]


def expected(model: str, y: np.ndarray, value: float, part: np.ndarray, metric: Any) -> float:
    """The mean over tasks of scikit-learn's metric of scikit-learn's model, fitted with that value."""
    scores = []
    for task in range(y.shape[1]):
        kinds: dict[str, Any] = {
            "forest": RandomForestClassifier(int(value), random_state=0, max_features="sqrt"),
            "linear": LogisticRegression(C=value, max_iter=1000),
            "forest of numbers": RandomForestRegressor(int(value), random_state=0, max_features="sqrt"),
            "linear of numbers": Ridge(alpha=1 / value if value else 1),
        }
        fitted = kinds[model].fit(*rows(y[:, task], SPLIT.train))
        x, truth = rows(y[:, task], part)
        made = fitted.predict(x) if "numbers" in model else fitted.predict_proba(x)[:, 1]
        scores.append(metric(truth, made))
    return float(np.mean(scores))


def root(*pair: np.ndarray) -> float:
    return float(np.sqrt(mean_squared_error(*pair)))


@pytest.mark.parametrize("model", MODELS)
def test_yes_or_no_tasks_are_scored_as_scikit_learn_scores_them(model: Literal["forest", "linear"]) -> None:
    found = fingerprint_score(BITS, BINARY, SPLIT, model=model)
    values = fingerprints.TREES if model == "forest" else fingerprints.PENALTIES
    valid = [100 * expected(model, BINARY, value, SPLIT.valid, roc_auc_score) for value in values]
    assert found.valid == pytest.approx(max(valid))
    assert found.chosen == values[int(np.argmax(valid))]
    assert found.test == pytest.approx(100 * expected(model, BINARY, found.chosen, SPLIT.test, roc_auc_score))
    precision = 100 * expected(model, BINARY, found.chosen, SPLIT.test, average_precision_score)
    assert found.beside == {"pr_auc": pytest.approx(precision)}
    assert found.test > 65


@pytest.mark.parametrize("model", MODELS)
def test_numbers_are_scored_as_scikit_learn_scores_them(model: Literal["forest", "linear"]) -> None:
    found = fingerprint_score(BITS, NUMBERS, SPLIT, model=model, goal="numbers")
    values = fingerprints.TREES if model == "forest" else fingerprints.PENALTIES
    name = f"{model} of numbers"
    valid = [expected(name, NUMBERS, value, SPLIT.valid, root) for value in values]
    assert found.valid == pytest.approx(min(valid), rel=1e-4)
    assert found.chosen == values[int(np.argmin(valid))]
    assert found.test == pytest.approx(expected(name, NUMBERS, found.chosen, SPLIT.test, root), rel=1e-4)
    absolute = expected(name, NUMBERS, found.chosen, SPLIT.test, mean_absolute_error)
    assert found.beside == {"mae": pytest.approx(absolute, rel=1e-4)}


@pytest.mark.parametrize("model", MODELS)
def test_labels_of_the_test_part_change_nothing_but_the_test_score(model: Literal["forest", "linear"]) -> None:
    found = fingerprint_score(BITS, BINARY, SPLIT, model=model)
    other = BINARY.copy()
    other[SPLIT.test] = 1 - other[SPLIT.test]
    again = fingerprint_score(BITS, other, SPLIT, model=model, jobs=2)
    assert (again.valid, again.chosen) == (found.valid, found.chosen)
    assert again.test == pytest.approx(100 - found.test)


@pytest.mark.parametrize("model", MODELS)
def test_a_task_that_cannot_be_learnt_counts_as_chance(model: Literal["forest", "linear"]) -> None:
    alone = fingerprint_score(BITS, BINARY[:, :1], SPLIT, model=model)
    for nothing in (NAN, 1.0):
        y = BINARY.copy()
        y[SPLIT.train, 1] = nothing
        assert fingerprint_score(BITS, y, SPLIT, model=model).test == pytest.approx((alone.test + 50) / 2)


def test_what_does_not_fit_together_is_refused_in_one_line() -> None:
    with pytest.raises(DataError, match=r"\[119, 40\] fingerprints and \[120, 2\] labels: pass one row of each"):
        fingerprint_score(BITS[1:], BINARY, SPLIT, model="linear")
    with pytest.raises(DataError, match="no task has both classes in the test data"):
        fingerprint_score(BITS, np.where(np.arange(120)[:, None] < 100, BINARY, 1.0), SPLIT, model="linear")
