"""Average ranks, and how far apart they must be."""

from math import sqrt

import numpy as np
import pytest
from scipy.stats import friedmanchisquare

from nmrgcl.reproduce.tables.ranking import Ranking, critical_difference, rank_rows

Q = {2: 1.960, 3: 2.343, 4: 2.569, 5: 2.728, 6: 2.850, 7: 2.949, 8: 3.031, 9: 3.102, 10: 3.164}
"""Demšar 2006, Table 5 (a): critical values of Nemenyi's test at 5 %."""
GAP = np.nan


@pytest.mark.parametrize("rows", Q)
def test_critical_differences_are_those_of_the_published_table(rows: int) -> None:
    assert critical_difference(rows, 6) == pytest.approx(Q[rows] * sqrt(rows * (rows + 1) / 36), abs=0.002)


def test_the_published_example_is_found_again() -> None:
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)  # Demšar 2006, Sec. 3.2.4


def test_ranks_worked_by_hand() -> None:
    means = np.array([[70.0, 80.0, 75.0], [60.0, 60.0, 50.0], [81.0, 90.0, 85.0]])
    found = rank_rows(["a", "b", "c"], ["X", "Y", "Z"], means)
    assert found is not None
    # a: 3, 1.5, 3; b: 1, 1.5, 1; c: 2, 3, 2
    assert found.names == ("b", "c", "a")
    assert found.ranks == pytest.approx((3.5 / 3, 7 / 3, 7.5 / 3))


def test_the_p_value_is_that_of_friedmans_test() -> None:
    means = np.random.default_rng(0).normal(70, 3, (8, 5)) + np.arange(5)
    found = rank_rows(list("abcde"), list("ABCDEFGH"), means)
    assert found is not None
    assert found.p == pytest.approx(friedmanchisquare(*means.T).pvalue)
    assert "8 datasets and 5 rows" in found.sentence


def test_rows_with_gaps_are_left_out_and_named() -> None:
    means = np.array([[1.0, 2.0, 3.0, GAP, GAP], [1.0, 3.0, 2.0, 4.0, GAP], [GAP] * 5])
    found = rank_rows(list("abcde"), ["X", "Y", "Z"], means)
    assert found is not None
    assert sorted(found.names) == ["a", "b", "c"]
    assert found.left_out == ("d",)
    assert found.datasets == ("X", "Y")
    assert "not ranked, because of gaps: d" in found.sentence


def test_too_few_rows_or_datasets_are_not_ranked() -> None:
    assert rank_rows(["a", "b"], ["X", "Y"], np.ones((2, 2))) is None
    assert rank_rows(["a", "b", "c"], ["X"], np.ones((1, 3))) is None
    assert rank_rows([], ["X"], np.ones((1, 0))) is None
    equal = rank_rows(["a", "b", "c"], ["X", "Y"], np.ones((2, 3)))
    assert equal is not None
    assert (equal.p, equal.ranks) == (1.0, (2.0, 2.0, 2.0))


def test_bars_join_the_largest_runs_that_do_not_differ() -> None:
    def bars(*ranks: float) -> list[tuple[int, int]]:
        return Ranking(tuple(map(str, ranks)), ranks, 0.01, 1.0, ("X", "Y")).cliques()

    assert bars(1.0, 1.5, 2.2, 4.0) == [(0, 1), (1, 2)]
    assert bars(1.0, 1.5, 1.9, 4.0) == [(0, 2)]
    assert bars(1.0, 2.0, 3.0) == []
