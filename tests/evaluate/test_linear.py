"""Logistic regression with scikit-learn's optimum, and C by validation."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from nmrgcl.data.splits import Split
from nmrgcl.errors import DataError, SettingError
from nmrgcl.evaluate.linear import GRID, linear_score, scaled
from nmrgcl.evaluate.logistic import fit_logistic, minimise, predict


def blobs(rows: int, width: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=rows)
    # Columns of very different spread and with offsets, as embeddings have them.
    spread = np.geomspace(10, 0.01, width)
    return rng.normal(size=(classes, width))[y] * spread + rng.normal(size=(rows, width)) * spread + 3, y


@pytest.mark.parametrize(("rows", "width", "classes"), [(200, 8, 3), (40, 60, 2), (150, 12, 7)])
def test_the_optimum_is_scikit_learns(rows: int, width: int, classes: int) -> None:
    z, y = blobs(rows, width, classes)
    penalties = (1e-3, 1e-1, 1.0, 10.0)
    weights, intercept = fit_logistic(torch.from_numpy(z), torch.from_numpy(y), penalties, tolerance=1e-10)
    for number, c in enumerate(penalties):
        theirs = LogisticRegression(C=c, tol=1e-12, max_iter=20_000).fit(z, y)
        coef, bias = theirs.coef_.T, theirs.intercept_
        w, b = weights[number].numpy(), intercept[number].numpy()
        if classes == 2:  # scikit-learn fits one vector: the difference of ours at twice the penalty
            value = _objective(z, y, w, b, c)
            assert value <= _objective(z, y, np.hstack([-coef, coef]) / 2, np.hstack([-bias, bias]) / 2, c) + 1e-6
        else:
            assert _objective(z, y, w, b, c) <= _objective(z, y, coef, bias, c) + 1e-8
            np.testing.assert_allclose(w, coef, atol=2e-4)
            np.testing.assert_allclose(b - b.mean(), bias - bias.mean(), atol=2e-3)
            assert np.array_equal(predict(torch.from_numpy(z), weights, intercept)[number].numpy(), theirs.predict(z))


def _objective(z: np.ndarray, y: np.ndarray, w: np.ndarray, b: np.ndarray, c: float) -> float:
    logits = torch.from_numpy(z @ w + b)
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


@pytest.mark.parametrize("look", [1, 16])
def test_each_problem_finds_its_own_minimum_however_often_the_host_looks(look: int) -> None:
    stretch = torch.tensor([[1.0, 1.0], [1.0, 400.0], [1e-3, 30.0]], dtype=torch.float64)
    goal = torch.tensor([[0.0, 0.0], [3.0, -2.0], [-5.0, 1.0]], dtype=torch.float64)

    def quartic(x: torch.Tensor, problems: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        away, scale = x - goal[problems], stretch[problems]
        return (scale * (away.square() + away**4)).sum(1), scale * (2 * away + 4 * away**3)

    found = minimise(quartic, torch.zeros(3, 2, dtype=torch.float64), 1e-9, look=look)
    torch.testing.assert_close(found, goal, atol=1e-4, rtol=0)


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
    with pytest.raises(SettingError, match="known: none, l2, standardise"):
        scaled(z, train, "max")


def test_what_cannot_be_judged_is_refused() -> None:
    z, y = blobs(30, 4, 2)
    split = Split(np.arange(10), np.arange(10, 20), np.arange(20, 30))
    with pytest.raises(DataError, match="one class"):
        linear_score(z, np.zeros(30, int), split)
    z[3, 1] = np.nan
    with pytest.raises(DataError, match="1 of 30 embeddings hold NaN"):
        linear_score(z, y, split)
    with pytest.raises(DataError, match="one label a node"):
        linear_score(z, y[:5], split)
