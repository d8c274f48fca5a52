import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from nmrgcl.data.splits import SPLITS, split_nodes, stratified_folds
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
    with pytest.raises(DataError, match="no labelled graphs"):
        stratified_folds(np.array([], int))
    with pytest.raises(SettingError, match="folds is 1"):
        stratified_folds(y, 1)


def test_graphs_without_a_label_are_in_no_fold() -> None:
    y = np.array([0, -1, 1, 0, -1, 1, 0, 1])
    folds = stratified_folds(y, 3, seed=2)
    assert sorted(np.concatenate([test for _, test in folds]).tolist()) == [0, 2, 3, 5, 6, 7]
    for train, test in folds:
        assert sorted([*train, *test]) == [0, 2, 3, 5, 6, 7]


@pytest.mark.parametrize(("name", "sizes"), [("random-10-10-80", (100, 100, 800)), ("paper-80-10-10", (800, 100, 100))])
def test_random_splits_are_seeded_disjoint_and_of_the_stated_shares(name: str, sizes: tuple[int, ...]) -> None:
    y = np.arange(1050) % 7
    y[::21] = -1
    split = split_nodes(name, y, seed=3)
    parts = (split.train, split.valid, split.test)
    assert tuple(map(len, parts)) == sizes
    assert sorted(np.concatenate(parts).tolist()) == np.flatnonzero(y >= 0).tolist()
    again, other = split_nodes(name, y, seed=3), split_nodes(name, y, seed=4)
    assert np.array_equal(split.train, again.train)
    assert not np.array_equal(split.train, other.train)


def test_the_public_split_is_the_datasets_own_whatever_the_seed() -> None:
    public, y = np.array([1, 2, 3, 3, 0, 1]), np.array([0, 1, 0, -1, 1, 1])
    for seed in (0, 1):
        split = split_nodes("public", y, seed=seed, public=public)
        assert [part.tolist() for part in (split.train, split.valid, split.test)] == [[0, 5], [1], [2]]
    with pytest.raises(DataError, match="has no public split; choose random-10-10-80 or paper-80-10-10"):
        split_nodes("public", y)


def test_a_split_with_an_empty_part_or_an_unknown_name_is_refused() -> None:
    with pytest.raises(DataError, match="split random-10-10-80: of 3 labelled nodes there are none to train on"):
        split_nodes("random-10-10-80", np.zeros(3))
    with pytest.raises(SettingError, match="unknown split 'thirds'; known: public, random-10-10-80"):
        split_nodes("thirds", np.zeros(30))
    assert len(SPLITS) == 3
