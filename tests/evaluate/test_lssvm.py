"""The least-squares SVM: the linear system of its definition, fold by fold and C by C."""

import numpy as np
import pytest
import torch
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from nmrgcl.errors import DataError, SettingError
from nmrgcl.evaluate import lssvm
from nmrgcl.evaluate.cross_validation import GRID, Penalty
from nmrgcl.evaluate.lssvm import lssvm_nested, lssvm_scores, lssvm_table
from nmrgcl.evaluate.rbf import Scaling
from nmrgcl.evaluate.svm import svm_scores
from tests.evaluate.test_svm import embeddings


def by_definition(kernel: np.ndarray, targets: np.ndarray, c: float) -> tuple[np.ndarray, np.ndarray]:
    """α and b of the bordered system, solved as it stands."""
    n = len(kernel)
    system = np.zeros((n + 1, n + 1))
    system[0, 1:] = system[1:, 0] = 1
    system[1:, 1:] = kernel + np.eye(n) / c
    solved = np.linalg.solve(system, np.vstack([np.zeros((1, targets.shape[1])), targets]))
    return solved[1:], solved[0]


def slow_table(
    z: np.ndarray, y: np.ndarray, *, seed: int, folds: int, standardise: Scaling
) -> tuple[np.ndarray, np.ndarray]:
    """Accuracies on left-out rows, each by a fit of its own, and on held-out folds: ``[C, folds]`` each."""
    tables = np.zeros((2, len(GRID), folds))
    cuts = StratifiedKFold(folds, shuffle=True, random_state=seed).split(y, y)
    for fold, (train, test) in enumerate(cuts):
        known, unknown = z[train], z[test]
        if standardise:
            scaler = StandardScaler().fit(known)
            known, unknown = scaler.transform(known), scaler.transform(unknown)
        if standardise == "squashed":
            known, unknown = np.arcsinh(known), np.arcsinh(unknown)
        gamma = 1 / (known.shape[1] * known.var())
        kernel, kernel_test = rbf_kernel(known, gamma=gamma), rbf_kernel(unknown, known, gamma=gamma)
        classes = np.unique(y)
        targets = np.where(y[train][:, None] == classes, 1.0, -1.0)
        for number, c in enumerate(GRID):
            alpha, bias = by_definition(kernel, targets, c)
            right = classes[(kernel_test @ alpha + bias).argmax(1)] == y[test]
            tables[1, number, fold] = 100 * right.mean()
            left_out = []
            for row in range(len(train)):
                others = np.delete(np.arange(len(train)), row)
                alpha, bias = by_definition(kernel[np.ix_(others, others)], targets[others], c)
                left_out.append(classes[(kernel[row, others] @ alpha + bias).argmax()] == y[train][row])
            tables[0, number, fold] = 100 * np.mean(left_out)
    return tables[0], tables[1]


@pytest.mark.parametrize("standardise", [True, False, "squashed"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("together", [512, 10])
def test_every_fold_and_c_scores_as_the_definition_does(
    classes: int, standardise: Scaling, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lssvm, "TOGETHER", together)  # folds in one batch, padded; and one by one
    z, y = embeddings(rows=55, classes=classes)
    expected = slow_table(z, 3 * y + 1, seed=2, folds=4, standardise=standardise)
    found = lssvm_table(z, 3 * y + 1, seed=2, folds=4, standardise=standardise)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    best = expected[0].argmax(0)
    scores = lssvm_scores(z, 3 * y + 1, seed=2, folds=4, standardise=standardise)
    np.testing.assert_allclose(scores, expected[1][best, np.arange(4)], rtol=1e-12)
    inner = lssvm_nested(z, 3 * y + 1, seed=2, folds=4, standardise=standardise).inner
    assert inner is not None
    np.testing.assert_allclose(inner, expected[0].max(0), rtol=1e-12)
    assert len(set(best)) > 1 or len(set(scores)) > 1


def test_a_row_left_out_is_predicted_as_by_a_fit_without_it() -> None:
    z, y = embeddings(rows=30, classes=3)
    kernel = rbf_kernel(StandardScaler().fit_transform(z), gamma=1 / 20)
    targets = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    real, every = torch.ones(1, 30, dtype=torch.bool), torch.tensor(GRID, dtype=torch.float64)
    fits = lssvm._fit(torch.from_numpy(kernel)[None], torch.from_numpy(targets)[None], real, every)
    for c, *found in zip(GRID, *fits, strict=True):
        alpha, bias = by_definition(kernel, targets, c)
        np.testing.assert_allclose(found[0][0], alpha, atol=1e-9)
        np.testing.assert_allclose(found[1][0, 0], bias, atol=1e-9)
        for row in (0, 11, 29):
            others = np.delete(np.arange(30), row)
            alpha, bias = by_definition(kernel[np.ix_(others, others)], targets[others], c)
            np.testing.assert_allclose(found[2][0, row], kernel[row, others] @ alpha + bias, atol=1e-8)


def test_with_targets_that_need_no_bias_it_is_kernel_ridge_regression() -> None:
    """Mirrored rows of opposite classes: b is zero by symmetry."""
    half = np.random.default_rng(0).normal(size=(20, 4))
    z, targets = np.vstack([half, -half]), np.repeat([1.0, -1.0], 20)
    kernel = rbf_kernel(z, gamma=0.3)
    real = torch.ones(1, 40, dtype=torch.bool)
    c = torch.tensor([10.0], dtype=torch.float64)
    alpha, bias, _ = lssvm._fit(torch.from_numpy(kernel)[None], torch.from_numpy(targets)[None, :, None], real, c)
    expected = KernelRidge(alpha=0.1, kernel="rbf", gamma=0.3).fit(z, targets)
    assert abs(bias.item()) < 1e-12
    np.testing.assert_allclose(alpha[0, 0, :, 0], expected.dual_coef_, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("standardise", [True, False])
@pytest.mark.parametrize("value", [0.0, 0.1, 7.0])
def test_constant_embeddings_score_the_majority_class(value: float, standardise: bool, dtype: type) -> None:
    y = np.repeat([0, 1], [60, 40])
    scores = lssvm_scores(np.full((100, 96), value, dtype), y, seed=0, standardise=standardise)
    assert scores.tolist() == [60.0] * 10


def test_repeated_and_far_off_rows_score_as_near_the_origin() -> None:
    z, y = embeddings(rows=120)
    z = np.round(z[np.arange(120) // 3])
    for standardise in (True, False):
        near, far = (lssvm_scores(rows, y, seed=0, folds=3, standardise=standardise) for rows in (z, z + 1000))
        np.testing.assert_allclose(near, far)


def test_neither_the_choice_of_c_nor_a_fit_sees_the_held_out_rows() -> None:
    z, y = embeddings()
    train, test = next(StratifiedKFold(10, shuffle=True, random_state=0).split(y, y))
    hidden = z.copy()
    hidden[test] = 1e6
    for standardise in (True, False):
        seen, unseen = (lssvm_table(rows, y, seed=0, standardise=standardise)[0][:, 0] for rows in (z, hidden))
        np.testing.assert_array_equal(seen, unseen)
    assert len(train) + len(test) == len(y)


@pytest.mark.parametrize(("c", "number"), [("default", 3), (10.0, 4)])
def test_a_given_c_is_used_as_it_is(c: Penalty, number: int) -> None:
    z, y = embeddings()
    expected = lssvm_table(z, y, seed=1)[1][number]
    np.testing.assert_array_equal(lssvm_scores(z, y, seed=1, c=c), expected)


def test_arguments_stay_as_they_were() -> None:
    z, y = embeddings()
    z.flags.writeable = y.flags.writeable = False
    lssvm_scores(z, y, seed=0, c="default", standardise=False)


@pytest.mark.parametrize(
    ("z", "y", "options"),
    [
        (embeddings(rows=40)[0], np.repeat([0, 3, 7], [20, 4, 16]), {}),
        (embeddings(rows=40)[0], np.repeat([0, 1], [34, 6]), {"folds": 3}),
        (np.ones((6, 2)), np.arange(6) % 2, {}),
        (np.ones((20, 2)), np.zeros(20, int), {}),
        (np.ones((20, 2)), np.arange(19) % 2, {}),
        (np.ones(20), np.arange(20) % 2, {}),
        (np.full((20, 2), np.nan), np.arange(20) % 2, {}),
        (*embeddings(), {"folds": 1}),
        (*embeddings(), {"c": "best"}),
    ],
)
def test_what_the_svm_refuses_is_refused_in_the_same_words(z: np.ndarray, y: np.ndarray, options: dict) -> None:
    with pytest.raises((DataError, SettingError)) as by_svm:
        svm_scores(z, y, seed=0, jobs=1, **options)
    with pytest.raises(type(by_svm.value)) as refused:
        lssvm_scores(z, y, seed=0, **options)
    assert str(refused.value) == str(by_svm.value)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
@pytest.mark.parametrize("rows", [150, 700])
def test_a_gpu_scores_as_the_cpu_does(rows: int) -> None:
    z, y = embeddings(rows=rows, classes=3)
    here, there = (lssvm_scores(z, y, seed=0, device=torch.device(place)) for place in ("cpu", "cuda"))
    assert abs(here - there).mean() <= 100 / rows
