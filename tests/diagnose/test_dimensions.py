import numpy as np
import pytest
import torch

from nmrgcl.diagnose.dimensions import (
    correlation,
    dead_dimensions,
    duplicate_dimensions,
    live_dimensions,
    mean_correlation,
)

X = torch.tensor([0.0, 1.0, 2.0, 5.0])
W = torch.tensor([1.0, -1.0, -1.0, 1.0])


def test_dead_and_repeated_dimensions_are_counted_apart() -> None:
    z = torch.stack([X, torch.full_like(X, 7.0), -2 * X + 1, W, 1e-9 * X, X + 3], 1)
    assert live_dimensions(z).tolist() == [True, False, True, True, False, True]
    assert dead_dimensions(z) == 2
    assert duplicate_dimensions(correlation(z)) == 2  # The third and the last duplicate the first.


def test_rounding_around_a_large_mean_is_not_life() -> None:
    z = (1000 + 1e-5 * torch.randn(50, 4, generator=torch.Generator().manual_seed(0))).float()
    assert dead_dimensions(z) == 4


def test_correlations_are_numpys() -> None:
    z = torch.randn(30, 5, generator=torch.Generator().manual_seed(0))
    found = correlation(z.double())
    expected = np.corrcoef(z.double().numpy().T)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    off = np.abs(expected[~np.eye(5, dtype=bool)])
    assert mean_correlation(found) == pytest.approx(off.mean())


def test_dead_dimensions_correlate_with_nothing() -> None:
    found = correlation(torch.stack([X, torch.ones(4), W], 1))
    assert found[1].tolist() == [0, 0, 0]
    assert mean_correlation(found) == pytest.approx(abs(np.corrcoef(X, W)[0, 1]), rel=1e-5)
    assert mean_correlation(correlation(torch.ones(4, 3))) == 0
