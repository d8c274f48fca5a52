"""The compiled solver against LIBSVM, whose steps it takes."""

import platform
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from nmrgcl.evaluate.cross_validation import GRID
from nmrgcl.evaluate.svm import svm_nested
from nmrgcl.ops import svm_solver
from nmrgcl.ops.forms import switched_off
from nmrgcl.ops.svm_solver import COMPILED, TOLERANCE, predict_classes

SAME_BITS = platform.machine() in ("x86_64", "AMD64")  # elsewhere LIBSVM may be compiled with fused operations


@pytest.fixture(autouse=True)
def _for_any_size(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(svm_solver, "SMALLEST", 0)
    svm_solver._compiled.cache_clear()
    yield
    svm_solver._compiled.cache_clear()


def case(rows: int, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Kernels ``[n, n]`` and ``[m, n]`` and overlapping classes 0 and 1, the first less frequent."""
    random = np.random.default_rng(rows)
    y = (np.arange(rows) % 5 > 1).astype(int)
    z = random.normal(size=(rows, 5)) + 0.6 * y[:, None]
    if kind == "repeated":
        z[1::2] = z[::2][: rows // 2]  # equal rows of different classes: ties, and steps without curvature
    tests = random.normal(size=(101, 5)) + 0.3
    length, length_test = np.ones(rows), np.ones(101)
    if kind == "scaled":
        length, length_test = random.uniform(0, 3, rows) * (np.arange(rows) != 3), random.uniform(0, 3, 101)
    kernel = rbf_kernel(z, gamma=0.3) * length[:, None] * length
    return kernel, rbf_kernel(tests, z, gamma=0.3) * length_test[:, None] * length, y


@pytest.mark.parametrize("kind", ["plain", "repeated", "scaled"])
@pytest.mark.parametrize("rows", [12, 300, 1200])
def test_decisions_equal_libsvms_bit_for_bit(rows: int, kind: str) -> None:
    solver = pytest.importorskip("nmrgcl.ops.numba.svm_solver", reason="Numba is not installed")
    kernel, kernel_test, y = case(rows, kind)
    by_class = np.argsort(y, kind="stable")
    found = solver.compiled()(kernel, kernel_test, by_class, int(np.sum(y == 0)), np.array(GRID))
    steps = []
    for decision, c in zip(found, GRID, strict=True):
        machine = SVC(C=c, kernel="precomputed").fit(kernel, y)
        expected = -machine.decision_function(kernel_test)  # scikit-learn's is positive for the second class
        if SAME_BITS:
            np.testing.assert_array_equal(decision, expected)
        else:
            np.testing.assert_allclose(decision, expected, atol=10 * TOLERANCE)
        steps.append(machine.n_iter_[0])
    assert rows < 300 or max(steps) > 1400  # so that rows were left out and came back


def test_three_classes_are_elected_as_by_libsvm() -> None:
    pytest.importorskip("numba")
    random = np.random.default_rng(0)
    y = np.repeat([2, 5, 9], [40, 70, 50])[random.permutation(160)]
    z = random.normal(size=(160, 4)) + 0.3 * y[:, None]
    kernel, kernel_test = rbf_kernel(z[:110]), rbf_kernel(z[110:], z[:110])
    found = predict_classes(kernel, kernel_test, y[:110], GRID)
    with switched_off(COMPILED):
        expected = predict_classes(kernel, kernel_test, y[:110], GRID)
    np.testing.assert_array_equal(found, expected)
    assert len(np.unique(found)) == 3


def test_the_protocol_gives_the_scores_that_it_gives_with_libsvm() -> None:
    pytest.importorskip("numba")
    random = np.random.default_rng(1)
    y = random.permutation(np.arange(160) % 2)
    cases = [(random.normal(size=(160, 6)) + 0.5 * y[:, None], y, 3)]
    found = svm_nested(cases, folds=4, jobs=1)
    with switched_off(COMPILED):
        expected = svm_nested(cases, folds=4, jobs=1)
    for one, other in ((found.outer, expected.outer), (found.inner, expected.inner), (found.chosen, expected.chosen)):
        assert one is not None
        assert other is not None
        np.testing.assert_array_equal(one, other)


def test_a_numba_that_does_not_work_leaves_libsvm_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, kernel_test, y = case(30, "plain")
    monkeypatch.setattr(svm_solver, "find_spec", lambda name: name)
    monkeypatch.setitem(sys.modules, "nmrgcl.ops.numba.svm_solver", None)
    with pytest.warns(RuntimeWarning, match="^the SVM runs without Numba and is slower"):
        found = predict_classes(kernel, kernel_test, y, (1.0,))
    np.testing.assert_array_equal(found[0], SVC(kernel="precomputed").fit(kernel, y).predict(kernel_test))
