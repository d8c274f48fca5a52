import math

import numpy as np
import pytest
import torch
from scipy.stats import wasserstein_distance

from nmrgcl.diagnose.separability import centroid_margins, sliced_wasserstein, wasserstein, wasserstein_by_dimension


@pytest.mark.parametrize("sizes", [(1, 1), (5, 9), (20, 20)])
def test_distances_are_scipys(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(sizes[0], 3)), rng.normal(1, 2, size=(sizes[1], 3)).round(1)
    expected = [wasserstein_distance(a[:, d], b[:, d]) for d in range(3)]
    np.testing.assert_allclose(wasserstein(torch.from_numpy(a), torch.from_numpy(b)), expected, rtol=1e-12)


def test_distance_by_dimension_is_in_standard_deviations_and_averaged_over_pairs() -> None:
    z = torch.tensor([[0.0, 5.0], [0.0, 5.0], [3.0, 5.0], [6.0, 5.0]])
    y = torch.tensor([7, 7, 9, 11])
    spread = np.std([0, 0, 3, 6])
    assert wasserstein_by_dimension(z, y).tolist() == pytest.approx([(3 + 6 + 3) / 3 / spread, 0.0])


def test_sliced_distance_of_shifted_classes_follows_the_shift() -> None:
    rng = np.random.default_rng(0)
    noise = torch.from_numpy(rng.normal(size=(400, 1, 4))).expand(-1, 2, -1).reshape(800, 4)
    y = torch.arange(800) % 2
    shift = torch.tensor([3.0, 0.0, 0.0, 0.0])
    z = noise + y[:, None] * shift
    # Both classes are the same points, one of them moved: along a direction u the distance is |u · shift|.
    generator = torch.Generator().manual_seed(0)
    axes = torch.randn(4, 128, generator=generator, dtype=torch.float64)
    along = (axes[0] / axes.norm(dim=0)).abs().mean() * 3
    spread = math.sqrt(float(z.var(0, correction=0).mean()))
    assert sliced_wasserstein(z, y) == pytest.approx(float(along) / spread)
    assert sliced_wasserstein(noise, y) == pytest.approx(0)


def test_margins_leave_the_row_out_of_its_own_mean() -> None:
    z = torch.tensor([[0.0], [2.0], [10.0], [12.0], [50.0]])
    y = torch.tensor([0, 0, 1, 1, 2])
    # Row 0: own mean without it 2, other mean 11. Row 1: 0 and 11. Row 4 is alone.
    found = centroid_margins(z, y).tolist()
    assert found[:4] == pytest.approx([(11 - 2) / 13, (9 - 2) / 11, (9 - 2) / 11, (11 - 2) / 13])
    assert math.isnan(found[4])


def test_equal_rows_have_no_margin() -> None:
    assert centroid_margins(torch.ones(4, 2), torch.tensor([0, 0, 1, 1])).tolist() == [0, 0, 0, 0]
