"""SVMs on kernels, beside scikit-learn's grid search."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from sklearn.metrics.pairwise import cosine_similarity, rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from nmrgcl.errors import DataError
from nmrgcl.evaluate import kernel_svm, svm_on_device
from nmrgcl.evaluate.cross_validation import GRID
from nmrgcl.evaluate.kernel_svm import kernel_nested, kernel_table
from nmrgcl.evaluate.rbf import padded
from nmrgcl.evaluate.svm import Inner
from nmrgcl.evaluate.svm_on_device import Cut, KernelsOf, from_kernels
from nmrgcl.run.protocols import Case, Truth, score_by_svm, score_every_penalty
from nmrgcl.settings import Settings

CPU = torch.device("cpu")

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
        (KERNELS * np.nan, "90 of 90 embeddings contain"),
    ],
)
def test_what_is_not_a_kernel_is_reported(kernels: np.ndarray, words: str) -> None:
    with pytest.raises(DataError, match=words):
        kernel_nested(kernels, Y, seed=0, jobs=1)


def test_parts_of_kernels_are_gathered_entry_by_entry() -> None:
    kernels = np.arange(3 * 5 * 5, dtype=np.float32).reshape(3, 5, 5)
    trains = ([0, 1, 2, 4], [7, 5], [14, 10, 13])  # of the first, the second and the third kernel
    tests = ([3], [6, 8, 9], [11, 12])
    known = padded(tuple(np.array(rows) for rows in trains), CPU)
    unknown = padded(tuple(np.array(rows) for rows in tests), CPU)[0]
    found, found_tests = from_kernels(torch.from_numpy(kernels))(known, unknown)
    assert found.shape == (3, 4, 4)
    assert found_tests.shape == (3, 3, 4)
    assert found_tests.dtype == torch.float64
    for k, (train, test) in enumerate(zip(trains, tests, strict=True)):
        for b, column in enumerate(train):
            for rows, part in ((train, found), (test, found_tests)):
                for a, row in enumerate(rows):
                    assert float(part[k, a, b]) == kernels[k, row - 5 * k, column - 5 * k]


def solve_slowly(
    kernels_of: KernelsOf, y: np.ndarray, cuts: Sequence[Cut], values: Sequence[float], device: torch.device
) -> tuple[np.ndarray, np.ndarray]:
    """What the device does, by LIBSVM one machine after another."""
    shares = np.empty((len(cuts), len(values)))
    for row, (train, test) in zip(shares, cuts, strict=True):
        kernel, of_test = kernels_of(padded((train,), device), torch.from_numpy(test[None]))
        models = [SVC(C=c, kernel="precomputed").fit(kernel[0].double().numpy(), y[train]) for c in values]
        row[:] = [np.mean(model.predict(of_test[0].numpy()) == y[test]) for model in models]
    return shares, np.ones(shares.shape, bool)


@contextmanager
def a_device_that_solves(monkeypatch: pytest.MonkeyPatch, solved: float = 1.0) -> Iterator[list[int]]:
    """The CPU counts as one; it fails to solve some machines. Yields how many cuts each call was given."""
    calls = []

    def solve(*arguments: object) -> tuple[np.ndarray, np.ndarray]:
        shares, _ = solve_slowly(*arguments)  # type: ignore[arg-type]
        calls.append(len(shares))
        done = np.random.default_rng(0).random(shares.shape) < solved
        return np.where(done, shares, -1.0), done

    with monkeypatch.context() as patch:
        patch.setattr(kernel_svm, "can_solve", lambda device, rows: True)
        patch.setattr(svm_on_device, "shares_right", solve)
        yield calls


@pytest.mark.parametrize(("inner", "solved"), [("in_order", 1.0), ("shuffled", 0.8)])
def test_a_device_chooses_and_scores_as_the_host_and_leaves_to_it_what_it_cannot_solve(
    inner: Inner, solved: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    y = np.array([10, 20, 30])[Y]  # codes need not count from 0
    with a_device_that_solves(monkeypatch, solved) as calls:
        there = kernel_nested(KERNELS, y, seed=1, folds=3, inner=inner, device=CPU)
        table = kernel_table(KERNELS, y, seed=1, folds=3, device=CPU)
        fixed = kernel_nested(KERNELS[:1], y, seed=1, folds=3, c=2.0, device=CPU)
    assert calls == [3 * (3 + 15), 3 * 3, 3]
    here = kernel_nested(KERNELS, y, seed=1, folds=3, inner=inner, jobs=1)
    np.testing.assert_array_equal(there.outer, here.outer)
    assert there.inner is not None
    assert here.inner is not None
    np.testing.assert_allclose(there.inner, here.inner, rtol=1e-12)
    np.testing.assert_array_equal(table, kernel_table(KERNELS, y, seed=1, folds=3, jobs=1))
    np.testing.assert_array_equal(fixed.outer, kernel_nested(KERNELS[:1], y, seed=1, folds=3, c=2.0, jobs=1).outer)
    assert fixed.inner is None


def test_the_protocol_hands_its_device_on_and_judges_labelled_rows_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings.from_dict({"folds": 3, "svm.c": "default"})
    some = np.where(np.arange(90) % 10, Y, -1)
    case = Case(Z, Truth(some), 1, kernels=KERNELS)
    with a_device_that_solves(monkeypatch) as calls:
        (scores,) = score_by_svm([case], settings, CPU, 1)
        penalties = score_every_penalty("svm", case, settings, CPU)
    assert calls == [3 * (3 + 15), 3 * 3]
    known = np.flatnonzero(some >= 0)
    kernels, y = np.stack([kernel[np.ix_(known, known)] for kernel in KERNELS]), some[known]
    assert scores.folds == kernel_nested(kernels, y, seed=1, folds=3, c=1.0, jobs=1).outer.tolist()
    assert [folds for _, folds in penalties] == kernel_table(kernels, y, seed=1, folds=3, c=1.0, jobs=1)[:, 0].tolist()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("unit", [True, False])
def test_a_gpu_scores_as_the_cpu_does(classes: int, unit: bool) -> None:
    chance = np.random.default_rng(5)
    y = np.arange(400) % classes
    z = chance.normal(size=(classes, 6))[y] + 1.5 * chance.normal(size=(400, 6))
    length = np.ones(400) if unit else chance.uniform(0.5, 1.5, 400)
    kernels = np.stack([rbf_kernel(z[:, :2]), rbf_kernel(z), cosine_similarity(z)]) * length[:, None] * length
    kernels = kernels.astype(np.float32)
    assert unit == bool((np.diagonal(kernels, axis1=1, axis2=2) == 1).all())  # another kernel solves these
    cpu, gpu = (
        kernel_nested(kernels, y, seed=0, inner="shuffled", jobs=1, device=torch.device(name))
        for name in ("cpu", "cuda")
    )
    assert cpu.inner is not None
    assert gpu.inner is not None
    assert np.abs(gpu.outer - cpu.outer).mean() <= 1.0
    assert np.abs(gpu.inner - cpu.inner).max() <= 0.5
    tables = [kernel_table(kernels, y, seed=0, jobs=1, device=torch.device(name)) for name in ("cpu", "cuda")]
    assert np.abs(tables[0] - tables[1]).mean() <= 0.5
