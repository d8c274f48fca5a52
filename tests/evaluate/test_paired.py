from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ttest_rel

from nmrgcl.errors import DataError
from nmrgcl.evaluate.paired import correct_pairs, holm, pair_rows, paired_difference


def test_the_correction_widens_the_plain_paired_test_by_its_formula() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(80, 2, (5, 10)), rng.normal(79, 2, (5, 10))
    ours, plain = paired_difference(a, b), ttest_rel(a.ravel(), b.ravel())
    low, high = plain.confidence_interval(0.95)
    widening = np.sqrt((1 / 50 + 1 / 9) / (1 / 50))
    assert ours.mean == pytest.approx((a - b).mean())
    assert ours.high - ours.low == pytest.approx(widening * (high - low))
    assert ours.p > plain.pvalue


def test_equal_scores_do_not_differ_and_constant_gaps_do() -> None:
    a = np.arange(20.0).reshape(2, 10)
    assert paired_difference(a, a).p == 1.0
    assert paired_difference(a + 1, a).p == 0.0


def test_noise_is_rarely_called_a_difference() -> None:
    rng = np.random.default_rng(1)
    found = [paired_difference(rng.normal(size=(5, 10)), rng.normal(size=(5, 10))).p < 0.05 for _ in range(400)]
    assert np.mean(found) < 0.05


def test_other_folds_cannot_be_compared() -> None:
    with pytest.raises(DataError, match="same folds"):
        paired_difference(np.zeros((5, 10)), np.zeros((4, 10)))


def test_one_split_per_seed_needs_the_ratio_of_its_parts() -> None:
    with pytest.raises(DataError, match="one score per seed: the test needs test_to_train"):
        paired_difference(np.zeros((3, 1)), np.ones((3, 1)))
    assert paired_difference(np.zeros((3, 1)), np.ones((3, 1)), test_to_train=1 / 8).mean == -1


def test_holm_by_hand() -> None:
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []


def test_rows_are_paired_by_the_seeds_that_both_have() -> None:
    folds = {("a", "D", seed): [70.0 + seed, 75.0] for seed in (0, 1, 2)}
    folds |= {("b", "D", seed): [71.0, 77.0 + seed] for seed in (1, 2, 3)}
    found = pair_rows(folds, "b", "a", "D")
    assert found is not None
    first, second = np.array([[71.0, 78.0], [71.0, 79.0]]), np.array([[71.0, 75.0], [72.0, 75.0]])
    assert (found.seeds, found.difference) == (2, paired_difference(first, second))
    assert pair_rows(folds, "b", "a", "E") is None
    one = {place: scores for place, scores in folds.items() if place[2] == 1}
    assert pair_rows(one, "b", "a", "D") is None  # two folds of one seed
    assert pair_rows({**folds, ("b", "D", 1): [71.0]}, "b", "a", "D") is None  # other folds
    low = replace(found, difference=replace(found.difference, p=0.01))
    assert [(pair.p, pair.compared) for pair in correct_pairs([low, replace(low, row="c")])] == [(0.02, 2)] * 2
