"""Calibration: scikit-learn's Platt scaling, and what it does where there is little to go by."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

from nmrgcl.predict.calibrate import fit_calibration

CHANCE = np.random.default_rng(0)


class Given(ClassifierMixin, BaseEstimator):
    """Its decision is its input."""

    def fit(self, x: np.ndarray, y: np.ndarray) -> "Given":
        self.classes_ = np.array([0, 1])
        return self

    def decision_function(self, x: np.ndarray) -> np.ndarray:
        return x[:, 0]

    def predict(self, x: np.ndarray) -> np.ndarray:
        return (x[:, 0] > 0).astype(int)


def test_probabilities_are_those_of_scikit_learn() -> None:
    z = CHANCE.normal(size=(60, 2)) * [4.0, 0.1]
    y = (z / [4.0, 0.1] + CHANCE.normal(size=z.shape) > 0.5).astype(float)
    found = fit_calibration(z, y)
    for task in (0, 1):
        x = z[:, [task]]
        given = FrozenEstimator(Given().fit(x, y[:, task]))
        # Two folds of the same frozen scores: all of them fit one sigmoid.
        theirs = CalibratedClassifierCV(given, method="sigmoid", cv=2, ensemble=False).fit(x, y[:, task])
        np.testing.assert_allclose(found(z)[:, task], theirs.predict_proba(x)[:, 1], atol=2e-4)
    assert found.slope.min() > 0


def test_overconfident_logits_are_drawn_in() -> None:
    """Labels are drawn with the probabilities of some logits; the model says three times as much."""
    z = CHANCE.normal(size=(4000, 1)) * 2
    y = (CHANCE.random(z.shape) < 1 / (1 + np.exp(-z))).astype(float)
    found = fit_calibration(3 * z, y)
    assert found.slope[0] == pytest.approx(1 / 3, rel=0.1)
    assert found.offset[0] == pytest.approx(0, abs=0.1)


def test_separated_classes_have_a_finite_slope() -> None:
    found = fit_calibration(np.array([[-1.0], [-2.0], [1.0], [2.0]]), np.array([[0.0], [0.0], [1.0], [1.0]]))
    # Platt's targets of two labels each are 3/4 and 1/4, so no probability is far beyond them.
    assert found(np.array([[1.5]]))[0, 0] == pytest.approx(0.75, abs=0.03)


def test_scores_that_point_the_wrong_way_give_all_molecules_one_probability() -> None:
    z, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([[1.0], [1.0], [1.0], [0.0]])
    found = fit_calibration(z, y)
    assert found.slope[0] == 0
    # Targets are 4/5 three times and 1/3 once.
    np.testing.assert_allclose(found(z), np.full((4, 1), (3 * 4 / 5 + 1 / 3) / 4), atol=1e-6)


def test_missing_labels_count_for_nothing_and_one_class_leaves_a_task_as_it_is() -> None:
    nan = np.nan
    z = np.array([[-1.0, 5.0, 1.0], [0.5, -3.0, 1.0], [2.0, 2.0, 2.0], [0.1, 9.0, 3.0]])
    y = np.array([[0.0, 1.0, nan], [1.0, 1.0, nan], [1.0, nan, nan], [nan, 1.0, nan]])
    found, alone = fit_calibration(z, y), fit_calibration(z[:3, :1], y[:3, :1])
    assert found.slope[0] == pytest.approx(alone.slope[0])
    assert found.slope[1:].tolist() == [1, 1]
    assert found.offset[1:].tolist() == [0, 0]
