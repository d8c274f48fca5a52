"""Support vector machines solved by the kernel, against LIBSVM's through scikit-learn."""

from itertools import combinations

import numpy as np
import pytest
import torch
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from nmrgcl.evaluate import kernel_svm, svm, svm_on_device
from nmrgcl.evaluate.rbf import Scaling
from nmrgcl.evaluate.svm_on_device import Cut
from nmrgcl.ops.svm_solver import TOLERANCE, solve_svms
from nmrgcl.ops.triton import svm_solver
from tests.ops import DEVICE

PENALTIES = (0.01, 1.0, 100.0)


def shares_right(
    z: np.ndarray, y: np.ndarray, cuts: list[Cut], values: tuple[float, ...], standardise: Scaling
) -> tuple[np.ndarray, np.ndarray]:
    """Of RBF machines."""
    kernels_of = svm_on_device.from_embeddings(torch.tensor(z, device=DEVICE), standardise=standardise)
    return svm_on_device.shares_right(kernels_of, y, cuts, values, torch.device(DEVICE))


def objective(kernel: np.ndarray, sign: np.ndarray, beta: np.ndarray) -> float:
    return float(0.5 * beta @ kernel @ beta - sign @ beta)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
def test_every_machine_is_libsvms(classes: int, repeated: bool, scaled: bool) -> None:
    random, parts, n = np.random.default_rng(0), 2, 45
    y = np.sort(random.permutation(np.arange(n) % classes))
    kernels, starts = [], []
    for _ in range(parts):
        z = random.normal(size=(n, 3)) + 0.7 * y[:, None]
        if repeated:
            z[1::2] = z[::2][: n // 2]  # alike, and of other classes here and there
        length = random.uniform(0.2, 2, n) * (np.arange(n) != 3) if scaled else np.ones(n)  # one is zero
        kernels.append(rbf_kernel(z, gamma=0.4) * length[:, None] * length)
        starts.append(np.searchsorted(y, np.arange(classes + 1)))
    pairs = list(combinations(range(classes), 2))
    found = solve_svms(
        torch.tensor(np.array(kernels), dtype=torch.float32, device=DEVICE),
        torch.tensor(np.array(starts), device=DEVICE),
        torch.tensor(pairs, device=DEVICE),
        torch.tensor(PENALTIES, dtype=torch.float64, device=DEVICE),
    )
    beta, threshold = found.beta.cpu().numpy(), found.threshold.cpu().numpy()
    assert float(found.gap.max()) <= TOLERANCE
    for m, penalty in enumerate(PENALTIES):
        for p, kernel in enumerate(kernels):
            for q, (a, b) in enumerate(pairs):
                rows = np.flatnonzero((y == a) | (y == b))
                sign = np.where(y[rows] == a, 1.0, -1.0)
                own = beta[m, p, q, rows]
                assert np.count_nonzero(beta[m, p, q]) == np.count_nonzero(own)
                assert abs(own.sum()) < 1e-9 * max(1, penalty)
                assert ((own * sign >= 0) & (own * sign <= penalty)).all()
                part = kernel[np.ix_(rows, rows)]
                machine = SVC(C=penalty, kernel="precomputed", tol=1e-6).fit(part, sign)
                best = np.zeros(len(rows))
                best[machine.support_] = machine.dual_coef_[0]
                gain = objective(part, sign, own) - objective(part, sign, best)
                assert abs(gain) < 2 * TOLERANCE * max(1.0, penalty)
                decision = part @ own - threshold[m, p, q]
                np.testing.assert_allclose(decision, machine.decision_function(part), atol=5 * TOLERANCE)


def test_rows_beyond_a_parts_own_take_no_part() -> None:
    random = np.random.default_rng(1)
    z, y = random.normal(size=(30, 2)), np.repeat([0, 1], 15)
    kernel = torch.tensor(rbf_kernel(z), dtype=torch.float32)
    padded = torch.full((1, 41, 41), 0.5)
    padded[0, :30, :30] = kernel
    bounds = torch.tensor(np.searchsorted(y, [[0, 1, 2]]), device=DEVICE)
    pairs, penalties = torch.tensor([[0, 1]], device=DEVICE), torch.tensor([3.0], dtype=torch.float64, device=DEVICE)
    plain = solve_svms(kernel[None].to(DEVICE), bounds, pairs, penalties)
    wide = solve_svms(padded.to(DEVICE), bounds, pairs, penalties)
    assert torch.equal(wide.beta[..., :30], plain.beta)
    assert not wide.beta[..., 30:].any()
    assert torch.equal(wide.threshold, plain.threshold)


@pytest.mark.parametrize(("classes", "standardise"), [(2, True), (3, False), (2, "squashed")])
def test_cuts_are_judged_as_by_libsvm(classes: int, standardise: Scaling, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(svm_on_device, "AT_ONCE", 4 * 60**2)  # one or two kernels at a time
    random = np.random.default_rng(2)
    y = random.permutation(np.arange(70) % classes)
    z = (random.normal(size=(70, 3)) + y[:, None]) * [1, 5, 2]
    cuts = list(StratifiedKFold(5, shuffle=True, random_state=0).split(y, y))
    cuts += [(train[5:], test) for train, test in cuts[:2]]
    shares, solved = shares_right(z, y, cuts, PENALTIES, standardise)
    assert solved.all()
    for found, (train, test) in zip(shares, cuts, strict=True):
        expected = svm._accuracies(z, y, train, test, PENALTIES, standardise)
        assert np.abs(found - expected).max() <= 1 / len(test)  # a row at the border
        assert np.abs(found - expected).mean() < 0.03


def test_cuts_of_precomputed_kernels_are_judged_as_by_libsvm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cuts have different lengths, and in some a class is missing."""
    monkeypatch.setattr(svm_on_device, "AT_ONCE", 3 * 4 * 32**2)  # three kernels at a time
    random, rows, values = np.random.default_rng(4), 40, (0.1, 3.0)
    y = random.permutation(np.arange(rows) % 3)
    z = random.normal(size=(rows, 3)) + y[:, None]
    kernels = np.stack([z @ z.T, 2 * rbf_kernel(z, gamma=0.5)])
    (train, test), *_ = StratifiedKFold(5, shuffle=True, random_state=0).split(y, y)
    cuts = [(train, test), (train[7:], test[2:]), *((train[y[train] != gone], test) for gone in range(3))]
    kernels_of = svm_on_device.from_kernels(torch.tensor(kernels, device=DEVICE))
    of_all = [(k * rows + train, k * rows + test) for k in range(2) for train, test in cuts]
    with np.errstate(invalid="ignore"):  # where all rows of a machine are free, its threshold has no bounds
        shares, solved = svm_on_device.shares_right(kernels_of, np.tile(y, 2), of_all, values, torch.device(DEVICE))
    assert solved.all()
    accuracies = kernel_svm._accuracies
    expected = np.array(
        [accuracies(kernel[None], y, train, test, values) for kernel in kernels for train, test in cuts]
    )
    assert np.abs(shares - expected).max() <= 1 / len(test[2:])  # a row at the border
    assert np.count_nonzero(shares != expected) <= 2
    assert len(np.unique(expected)) > 4


def test_a_machine_that_takes_too_long_is_said_to_be_unsolved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(svm_solver, "MOST_STEPS", 3)
    random = np.random.default_rng(3)
    y, z = np.arange(40) % 2, random.normal(size=(40, 2))
    cuts = list(StratifiedKFold(4, shuffle=True, random_state=0).split(y, y))
    _, solved = shares_right(z, y, cuts, (100.0,), True)
    assert not solved.any()


def test_of_classes_with_as_many_votes_the_first_is_elected() -> None:
    decision = torch.tensor([[[[1.0, -1.0, 1.0], [-1.0, 1.0, 1.0]]]])  # 0, 2, 1: one vote each; 1, 0, 1
    assert svm_on_device._elected(decision, [(0, 1), (0, 2), (1, 2)], 3).tolist() == [[[0, 1]]]


def test_rows_that_are_all_alike_are_all_of_the_larger_class() -> None:
    y, z = np.repeat([0, 1], [16, 24]), np.full((40, 2), 0.1)
    cuts = list(StratifiedKFold(4, shuffle=True, random_state=0).split(y, y))
    shares, solved = shares_right(z, y, cuts, PENALTIES, True)
    assert solved.all()
    assert (shares == 0.6).all()
