"""SVMs on kernels, beside scikit-learn's grid search."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from nmrgcl.errors import DataError
from nmrgcl.evaluate.cases import GRID
from nmrgcl.evaluate.kernel_svm import kernel_nested, kernel_table
from nmrgcl.evaluate.svm import Inner

CHANCE = np.random.default_rng(3)
Y = np.arange(90) % 3
Z = CHANCE.normal(size=(3, 4))[Y] + 1.5 * CHANCE.normal(size=(90, 4))
KERNELS = np.stack([Z[:, :2] @ Z[:, :2].T, Z @ Z.T, CHANCE.normal(size=(90, 90))])
KERNELS[2] = KERNELS[2] @ KERNELS[2].T


@pytest.mark.parametrize("inner", ["in_order", "shuffled"])
def test_one_kernel_is_chosen_a_c_for_as_scikit_learn_does(inner: Inner) -> None:
    found = kernel_nested(KERNELS[1:2], Y, seed=5, folds=4, inner=inner, jobs=1)
    folds = 5 if inner == "in_order" else StratifiedKFold(5, shuffle=True, random_state=5)
    for number, (train, test) in enumerate(StratifiedKFold(4, shuffle=True, random_state=5).split(Y, Y)):
        search = GridSearchCV(SVC(kernel="precomputed"), {"C": GRID}, cv=folds)
        search.fit(KERNELS[1][np.ix_(train, train)], Y[train])
        right = search.predict(KERNELS[1][np.ix_(test, train)]) == Y[test]
        assert found.outer[number] == pytest.approx(100 * right.mean())
        assert found.inner is not None
        assert found.inner[number] == pytest.approx(100 * search.best_score_)


def test_the_kernel_is_chosen_with_c_inside_the_training_folds() -> None:
    each = [kernel_nested(kernel[None], Y, seed=1, folds=3, jobs=1) for kernel in KERNELS]
    inner = np.array([one.inner for one in each])
    together = kernel_nested(KERNELS, Y, seed=1, folds=3, jobs=1)
    assert together.inner is not None
    np.testing.assert_allclose(together.inner, inner.max(0))
    best = inner.argmax(0)
    np.testing.assert_allclose(together.outer, np.array([one.outer for one in each])[best, np.arange(3)])
    assert 2 not in best  # the one that knows nothing of the classes


def test_one_kernel_and_one_c_leave_nothing_to_choose() -> None:
    found = kernel_nested(KERNELS[:1], Y, seed=1, folds=3, c=2.0, jobs=1)
    assert found.inner is None
    np.testing.assert_allclose(found.outer, kernel_table(KERNELS[:1], Y, seed=1, folds=3, c=2.0, jobs=1)[0, 0])
    assert kernel_table(KERNELS, Y, seed=1, folds=3, jobs=1).shape == (3, len(GRID), 3)


@pytest.mark.parametrize(
    ("kernels", "words"),
    [
        (KERNELS[0], "kernels have shape"),
        (KERNELS[:, :80], "kernels have shape"),
        (KERNELS[:0], "kernels have shape"),
        (KERNELS * np.nan, "90 of 90 embeddings hold"),
    ],
)
def test_what_is_no_kernel_is_told(kernels: np.ndarray, words: str) -> None:
    with pytest.raises(DataError, match=words):
        kernel_nested(kernels, Y, seed=0, jobs=1)
