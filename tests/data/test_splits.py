import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from nmrgcl.data.splits import stratified_folds
from nmrgcl.errors import DataError, SettingError


def test_folds_equal_scikit_learns() -> None:
    y = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [40, 23, 11]))
    theirs = StratifiedKFold(10, shuffle=True, random_state=5).split(y, y)
    for (train, test), (their_train, their_test) in zip(stratified_folds(y, seed=5), theirs, strict=True):
        assert np.array_equal(train, their_train)
        assert np.array_equal(test, their_test)


def test_every_graph_is_tested_once() -> None:
    y = np.arange(30) % 3
    tests = [test for _, test in stratified_folds(y, 5)]
    assert sorted(np.concatenate(tests).tolist()) == list(range(30))
    assert all(np.bincount(y[test]).tolist() == [2, 2, 2] for test in tests)


def test_a_class_that_is_too_small_is_named() -> None:
    y = np.repeat([0, 1], [20, 4])
    with pytest.raises(DataError, match="class 1 has 4 graphs, too few for 10 folds; use at most 4 folds"):
        stratified_folds(y)
    with pytest.raises(DataError, match="class 1 has 1 graphs, too few for 2 folds; leave that class out"):
        stratified_folds(np.repeat([0, 1], [5, 1]), 2)
    with pytest.raises(DataError, match="no graphs"):
        stratified_folds(np.array([], int))
    with pytest.raises(SettingError, match="folds is 1"):
        stratified_folds(y, 1)
