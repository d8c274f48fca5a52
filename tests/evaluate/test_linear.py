"""Logistic regression with scikit-learn's optimum, and C by validation."""

import math

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from nmrgcl.data.splits import Split
from nmrgcl.errors import DataError, SettingError
from nmrgcl.evaluate.linear import GRID, linear_predictions, linear_score, scaled
from nmrgcl.evaluate.logistic import fit_logistic, minimise, predict


def blobs(rows: int, width: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=rows)
    # Columns of very different spread and with offsets, as embeddings have them.
    spread = np.geomspace(10, 0.01, width)
    return rng.normal(size=(classes, width))[y] * spread + rng.normal(size=(rows, width)) * spread + 3, y


def plain(rows: int, width: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Separable if there are many columns: at a high C the optimum is then far from the start."""
    rng = np.random.default_rng(0)
    y = rng.integers(classes, size=rows)
    return rng.normal(size=(classes, width))[y] + rng.normal(size=(rows, width)), y


@pytest.mark.parametrize("make", [blobs, plain])
@pytest.mark.parametrize(
    ("rows", "width", "classes"), [(200, 8, 3), (40, 60, 2), (300, 6, 2), (150, 12, 7), (40, 60, 3), (1000, 64, 5)]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:.*line search.*")
def test_the_optimum_is_scikit_learns_at_every_c(  # type: ignore[no-untyped-def]
    make, rows: int, width: int, classes: int
) -> None:
    z, y = make(rows, width, classes)
    weights, intercept = fit_logistic(torch.from_numpy(z), torch.from_numpy(y), GRID)
    found = predict(torch.from_numpy(z), weights, intercept).numpy()
    for number, c in enumerate(GRID):
        theirs = LogisticRegression(C=c, solver="newton-cholesky", tol=1e-10, max_iter=1000).fit(z, y)
        w, b, coef, bias = weights[number].numpy(), intercept[number].numpy(), theirs.coef_.T, theirs.intercept_
        if classes == 2:  # scikit-learn fits one vector
            w, b = w[:, 1:] - w[:, :1], b[1:] - b[:1]
        expected = _objective(z, y, coef, bias, c)
        assert _objective(z, y, w, b, c) <= expected * (1 + 1e-7)
        np.testing.assert_allclose(w, coef, atol=1e-3 * np.abs(coef).max())
        np.testing.assert_array_equal(found[number], theirs.predict(z))


def _objective(z: np.ndarray, y: np.ndarray, w: np.ndarray, b: np.ndarray, c: float) -> float:
    """Of scikit-learn: the logits of two classes are 0 and that of the one vector."""
    logits = torch.from_numpy(z @ w + b)
    logits = torch.cat([torch.zeros_like(logits), logits], 1) if logits.shape[1] == 1 else logits
    return (
        float(c * torch.nn.functional.cross_entropy(logits, torch.from_numpy(y), reduction="sum")) + 0.5 * (w**2).sum()
    )


def test_penalties_do_not_disturb_each_other() -> None:
    z, y = (torch.from_numpy(part) for part in blobs(80, 5, 3))
    together = fit_logistic(z, y, (1e-3, 1.0, 100.0), tolerance=1e-9)[0]
    for number, c in enumerate((1e-3, 1.0, 100.0)):
        torch.testing.assert_close(
            together[number], fit_logistic(z, y, (c,), tolerance=1e-9)[0][0], atol=1e-6, rtol=1e-5
        )


def test_two_classes_by_hand() -> None:
    """One column ±1, a row each: scikit-learn minimises 2C·log(1 + e^−w) + w²/2, so that w = 2C / (1 + e^w)."""
    z, y = torch.tensor([[-1.0], [1.0]]), torch.tensor([0, 1])
    weights, intercept = fit_logistic(z, y, (0.5 * (1 + math.e), 1.0))
    w = weights[:, 0, 1] - weights[:, 0, 0]
    assert float(w[0]) == pytest.approx(1.0, abs=1e-6)
    assert float(w[1]) == pytest.approx(2 / (1 + math.exp(float(w[1]))), abs=1e-6)
    torch.testing.assert_close(intercept, torch.zeros(2, 2, dtype=torch.float64))


def test_a_class_without_training_rows_changes_nothing_and_is_never_predicted() -> None:
    z, y = (torch.from_numpy(part) for part in blobs(80, 5, 2))
    weights, intercept = fit_logistic(z, y, GRID)
    more, of_more = fit_logistic(z, 2 * y, GRID, classes=4)
    torch.testing.assert_close((more[:, :, ::2], of_more[:, ::2]), (weights, intercept), atol=0, rtol=0)
    assert torch.equal(predict(z, more, of_more), 2 * predict(z, weights, intercept))


@pytest.mark.parametrize("look", [2, 16])
def test_the_optimum_does_not_depend_on_how_often_the_host_looks(look: int) -> None:
    z, y = (torch.from_numpy(part) for part in plain(60, 9, 3))
    c = torch.tensor(GRID, dtype=torch.float64)
    torch.testing.assert_close(minimise(z, y, c, 1e-9, look=look), minimise(z, y, c, 1e-9), atol=1e-12, rtol=0)


def test_embeddings_that_are_all_alike_leave_the_intercepts_to_decide() -> None:
    y = torch.tensor([0, 1, 1, 2, 2, 2])
    for z in (torch.ones(6, 2), torch.ones(6, 9)):
        weights, intercept = fit_logistic(z, y, GRID)
        assert not weights.any()
        torch.testing.assert_close(intercept.softmax(1), torch.tensor([[1, 2, 3]] * 10) / 6.0, check_dtype=False)


@pytest.mark.parametrize("scaling", ["none", "l2", "standardise"])
def test_c_is_chosen_on_the_validation_nodes_alone(scaling: str) -> None:
    z, y = blobs(300, 6, 3, seed=1)
    order = np.random.default_rng(0).permutation(300)
    split = Split(order[:60], order[60:120], order[120:])
    found = linear_score(z, y, split, scaling=scaling)  # type: ignore[arg-type]
    rows = scaled(torch.from_numpy(z), torch.from_numpy(split.train), scaling).numpy()
    tables = []
    for c in GRID:
        model = LogisticRegression(C=c, tol=1e-8, max_iter=20_000).fit(rows[split.train], y[split.train])
        tables.append([100 * model.score(rows[part], y[part]) for part in (split.valid, split.test)])
    best = int(np.argmax([valid for valid, _ in tables]))
    assert (found.c, found.valid, found.test) == (GRID[best], *(pytest.approx(v) for v in tables[best]))
    predicted = linear_predictions(z, y, split, c=found.c, scaling=scaling)  # type: ignore[arg-type]
    assert 100 * np.mean(predicted == y[split.test]) == pytest.approx(found.test)


def test_labels_of_nodes_in_no_part_are_not_looked_at() -> None:
    z, y = blobs(60, 4, 3)
    split = Split(np.arange(0, 30), np.arange(30, 40), np.arange(40, 50))
    expected = linear_score(z, y, split)
    y[50:] = -1
    assert linear_score(z, y, split) == expected


def test_scaling_by_hand() -> None:
    z = torch.tensor([[3.0, 4.0], [0.0, 0.0], [6.0, 4.0]], dtype=torch.float64)
    train = torch.tensor([0, 1])
    assert scaled(z, train, "l2")[:2].tolist() == [[0.6, 0.8], [0.0, 0.0]]
    assert scaled(z, train, "standardise").tolist() == [[1.0, 1.0], [-1.0, -1.0], [3.0, 1.0]]
    with pytest.raises(SettingError, match="known: l2, none, squash, standardise"):
        scaled(z, train, "max")


def test_what_cannot_be_judged_is_refused() -> None:
    z, y = blobs(30, 4, 2)
    split = Split(np.arange(10), np.arange(10, 20), np.arange(20, 30))
    with pytest.raises(DataError, match="one class"):
        linear_score(z, np.zeros(30, int), split)
    z[3, 1] = np.nan
    with pytest.raises(DataError, match="1 of 30 embeddings contain NaN"):
        linear_score(z, y, split)
    with pytest.raises(DataError, match="one label per node"):
        linear_score(z, y[:5], split)
