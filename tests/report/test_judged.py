"""Curves of predictions: scikit-learn's, and values worked by hand."""

import numpy as np
import pytest
from sklearn.calibration import calibration_curve

from nmrgcl.report.judged import by_similarity, calibration_error, reliability

CHANCE = np.random.default_rng(0)


def test_reliability_is_scikit_learn_s_and_leaves_missing_labels_out() -> None:
    p = CHANCE.random((200, 2))
    y = (CHANCE.random(p.shape) < p).astype(float)
    y[CHANCE.random(p.shape) < 0.3] = np.nan
    known = ~np.isnan(y)
    share, mean = calibration_curve(y[known], p[known], n_bins=10)
    found = reliability(p, y)
    np.testing.assert_allclose(found[:2], (mean, share))
    assert found[2].sum() == known.sum()


def test_calibration_error_by_hand() -> None:
    """A bin of two labels is off by 0.5 - 0.15, one of one label by 1 - 0.9; a probability of 1 is in the last bin."""
    assert calibration_error(np.array([0.15, 0.15, 0.9]), np.array([0.0, 1.0, 1.0])) == pytest.approx(
        (2 * 0.35 + 0.1) / 3
    )
    assert reliability(np.array([1.0]), np.array([1.0]))[0].tolist() == [1.0]


def test_scores_by_similarity_by_hand() -> None:
    values = np.array([[1.0], [3.0], [np.nan], [7.0]])
    counts, means = by_similarity(values, np.array([0.2, 0.25, 0.45, 1.0]))
    assert counts.tolist() == [0, 2, 0, 1, 0, 0, 0, 1]
    np.testing.assert_array_equal(means, [np.nan, 2, np.nan, np.nan, np.nan, np.nan, np.nan, 7])
