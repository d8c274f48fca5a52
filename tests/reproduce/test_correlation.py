"""Rank correlations against SciPy, the definition by regression, and data whose correlation is known."""

import numpy as np
import pytest
from scipy.stats import pearsonr, rankdata, spearmanr

from nmrgcl.reproduce.correlation import average, reliability, spearman

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("n", [5, 24, 200])
def test_without_groups_it_is_scipys(n: int) -> None:
    x = RANDOM.normal(size=n)
    y = np.round(x + RANDOM.normal(size=n), 1)  # With ties.
    found, expected = spearman(x, y), spearmanr(x, y)
    assert found is not None
    assert found.n == n
    assert (found.rho, found.p) == pytest.approx((expected.statistic, expected.pvalue))
    assert found.low < found.rho < found.high


def test_a_value_worked_by_hand() -> None:
    # Ranks 1 2 3 4 5 and 2 1 4 3 5: 1 − 6·4/(5·24) = 0.8.
    found = spearman(np.array([10.0, 20, 30, 40, 50]), np.array([2.0, 1, 4, 3, 50]))
    assert found is not None
    assert found.rho == pytest.approx(0.8)
    # Bonett and Wright: arctanh 0.8 ± 1.96·√((1 + 0.32)/2).
    assert found.low == pytest.approx(np.tanh(np.arctanh(0.8) - 1.959964 * np.sqrt(0.66)), abs=1e-6)


def test_a_group_held_fixed_is_a_correlation_of_what_regression_leaves() -> None:
    view = np.repeat(np.arange(8), 3)
    x, y = 5.0 * view + RANDOM.normal(size=24), -5.0 * view + RANDOM.normal(size=24)
    centred = []
    for side in (x, y):
        ranks = rankdata(side)
        for group in range(8):
            ranks[view == group] -= ranks[view == group].mean()
        centred.append(ranks)
    plain, partial = spearman(x, y), spearman(x, y, view)
    assert plain is not None
    assert plain.rho < -0.9
    assert partial is not None
    assert partial.rho == pytest.approx(pearsonr(*centred).statistic)
    assert partial.error > plain.error * 0.9  # Seven degrees of freedom fewer.


def test_two_crossed_groups_leave_what_neither_explains() -> None:
    setting, seed = (part.ravel() for part in np.indices((6, 5)))
    noise = RANDOM.normal(size=30)
    x, y = 100.0 * setting + 10.0 * seed + noise, -100.0 * setting - 10.0 * seed + noise
    found = spearman(x, y, setting, seed)
    assert found is None or abs(found.rho) <= 1  # Ranks of so strong effects may leave nothing to correlate.
    mild = spearman(setting + noise, -setting + noise, setting, seed)
    assert mild is not None
    assert mild.rho > 0.6


def test_missing_values_take_no_part_and_too_few_are_none() -> None:
    x = np.array([1.0, 2, 3, 4, np.nan, 6])
    y = np.array([1.0, 3, 2, 4, 5, np.nan])
    found = spearman(x, y)
    assert found is not None
    assert found.n == 4
    assert spearman(x[:3], y[:3]) is None
    assert spearman(np.ones(9), np.arange(9.0)) is None
    assert spearman(np.full(9, np.nan), np.arange(9.0)) is None


@pytest.mark.parametrize("r", [0.0, 0.5, -0.8])
def test_intervals_hold_a_known_correlation_about_as_often_as_they_say(r: float) -> None:
    known = 6 / np.pi * np.arcsin(r / 2)  # Spearman's ρ of a normal pair with correlation r.
    chance, inside = np.random.default_rng(1), 0
    for _ in range(400):
        x = chance.normal(size=24)
        found = spearman(x, r * x + np.sqrt(1 - r**2) * chance.normal(size=24))
        assert found is not None
        inside += found.low <= known <= found.high
    assert 0.91 <= inside / 400 <= 0.99


def test_the_average_counts_each_dataset_once() -> None:
    x = RANDOM.normal(size=(2, 60))
    one, two = spearman(x[0, :20], x[1, :20]), spearman(x[0], x[0] + x[1])
    found = average([one, None, two], "settings")
    assert one is not None
    assert two is not None
    assert found is not None
    assert found.mean == pytest.approx(np.tanh((np.arctanh(one.rho) + np.arctanh(two.rho)) / 2))
    assert (found.n, found.strata) == (80, 2)
    alone = average([one], "settings")
    assert alone is not None
    assert (alone.mean, alone.low, alone.p) == pytest.approx((one.rho, one.low, one.p))
    assert average([None], "settings") is None


def test_reliability_is_cronbachs_alpha() -> None:
    scores = RANDOM.normal(size=(24, 1)) + 0.7 * RANDOM.normal(size=(24, 5)) + RANDOM.normal(size=5)
    alpha = 5 / 4 * (1 - scores.var(0, ddof=1).sum() / scores.sum(1).var(ddof=1))
    assert reliability(scores) == pytest.approx(alpha)
    assert reliability(np.arange(6.0)[:, None] + np.zeros(3)) == pytest.approx(1)
    assert reliability(scores[:, :1]) is None
    gaps = scores.copy()
    gaps[0, 0] = np.nan
    assert reliability(gaps) == reliability(scores[:, 1:])
