"""What verdicts rest on."""

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, t, ttest_1samp

from nmrgcl.evaluate.paired import holm
from nmrgcl.reproduce.statistics import best_level, compare, corrected, rise, spread

GAP = np.nan


def test_one_dataset_is_the_paired_t_test() -> None:
    differences = np.array([[1.0, 2.0, 0.5, 1.5, 3.0]])
    found, oracle = compare(differences), ttest_1samp(differences[0], 0)
    assert found is not None
    assert (found.mean, found.n, found.strata) == (pytest.approx(1.6), 5, 1)
    assert found.p == pytest.approx(oracle.pvalue)
    assert (found.low, found.high) == pytest.approx(oracle.confidence_interval(0.95))


def test_datasets_count_the_same_however_many_seeds_they_have() -> None:
    found = compare([np.array([0.0, 2.0]), np.array([4.0, 6.0, 4.0, 6.0])])
    assert found is not None
    assert found.mean == pytest.approx(3.0)
    # The means have variances 2/2 and (4/3)/4: the error is √(1 + 1/3)/2, Welch's freedom (4/3)²/(1/1 + (1/9)/3).
    freedom = (4 / 3) ** 2 / (1 + 1 / 27)

    assert found.high - found.mean == pytest.approx(float(t.ppf(0.975, freedom)) * (4 / 3) ** 0.5 / 2)
    assert found.n == 6


def test_pairs_that_are_missing_take_no_part() -> None:
    whole, gaps = compare([np.array([1.0, 3.0])]), compare([np.array([1.0, GAP, 3.0]), np.array([GAP, GAP, 9.0])])
    assert whole is not None
    assert gaps is not None
    assert (gaps.mean, gaps.p, gaps.n) == (whole.mean, whole.p, 2)
    assert compare([np.array([GAP, GAP])]) is None
    assert compare([]) is None


def test_a_single_pair_has_no_interval_and_equal_pairs_have_a_point() -> None:
    one, equal = compare([np.array([2.0])]), compare([np.array([2.0, 2.0])])
    assert one is not None
    assert equal is not None
    assert (one.p, one.high) == (1.0, np.inf)
    assert "too few" in one.sentence
    assert one.to_dict()["high"] is None
    assert (equal.low, equal.high, equal.p) == (2.0, 2.0, 0.0)


def test_correction_is_holms_over_those_that_are_there() -> None:
    found = [compare([np.array([1.0, 2.0, 3.0])]), None, compare([np.array([0.1, -0.2, 0.3])])]
    there = [one for one in found if one is not None]
    adjusted = [one.p if one else None for one in corrected(found)]
    first, second = holm([one.p for one in there])
    assert adjusted == [first, None, second]


def test_the_rise_of_a_line_is_what_it_gains() -> None:
    levels = [0.0, 0.1, 0.2, 0.3]
    scores = np.array([[60 + 10 * x, 50 - 20 * x] for x in levels])
    assert rise(levels, scores) == pytest.approx([3.0, -6.0])


def test_the_best_level_is_found_and_chance_is_reported() -> None:
    chance = np.random.default_rng(0)
    sure = np.array([60.0, 61, 65, 61])[:, None] + 0.1 * chance.normal(size=(4, 5))
    flat = 60 + chance.normal(size=(4, 5))
    asked = [False, False, True, False]
    found = best_level(np.stack([sure, flat]), asked)
    assert found is not None
    assert found.levels[0] == 2
    assert found.inside[0] == 1.0
    assert found.inside[1] < 0.95
    assert found.curves == [0, 1]
    gap = sure.copy()
    gap[1, 1:] = GAP
    assert best_level(gap[None], asked) is None  # one seed has all levels


def test_spread_is_friedmans_test_with_seeds_as_blocks() -> None:
    scores = np.random.default_rng(0).normal(size=(6, 5))
    found = spread(np.vstack([scores, np.full((1, 5), GAP)]))
    assert found is not None
    assert found.p == pytest.approx(friedmanchisquare(*scores).pvalue)
    assert found.range == pytest.approx(np.ptp(scores.mean(1)))
    assert spread(scores[:2]) is None
    same = spread(np.ones((3, 4)))
    assert same is not None
    assert same.p == 1.0
