import numpy as np
import pytest
import torch

from nmrgcl.diagnose import spectrum
from nmrgcl.diagnose.collapse import effective_rank, relative_spread, singular_spectrum

SIGMA = torch.tensor([2.0, 1.0, 1.0, 0.0], dtype=torch.float64)


def test_ranks_of_two_one_one_zero_by_hand() -> None:
    assert spectrum.entropy_rank(SIGMA) == pytest.approx(2 ** (0.5 * 1 + 2 * 0.25 * 2))  # shares ½, ¼, ¼: 1.5 bits
    assert spectrum.stable_rank(SIGMA) == pytest.approx(6 / 4)
    assert spectrum.participation_ratio(SIGMA) == pytest.approx(36 / 18)
    assert spectrum.numerical_rank(SIGMA) == 3
    assert spectrum.variance_share(SIGMA, 1) == pytest.approx(4 / 6)
    assert [spectrum.directions_for(SIGMA, share) for share in (0.5, 4 / 6, 0.7, 1.0)] == [1, 1, 2, 3]


@pytest.mark.parametrize("k", [1, 3, 7])
def test_k_equal_directions_have_rank_k_by_every_measure(k: int) -> None:
    sigma = torch.cat([torch.full((k,), 0.3, dtype=torch.float64), torch.zeros(4, dtype=torch.float64)])
    for rank in (spectrum.entropy_rank, spectrum.stable_rank, spectrum.participation_ratio, spectrum.numerical_rank):
        assert rank(sigma) == pytest.approx(k)


def test_nothing_has_no_rank() -> None:
    zero = torch.zeros(3, dtype=torch.float64)
    ranks = (spectrum.entropy_rank, spectrum.stable_rank, spectrum.participation_ratio, spectrum.numerical_rank)
    assert [rank(zero) for rank in ranks] == [0, 0, 0, 0]
    assert (spectrum.variance_share(zero, 2), spectrum.directions_for(zero, 0.9)) == (0.0, 0)


def test_measures_do_not_depend_on_scale_offset_or_rotation() -> None:
    z = torch.randn(40, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    turn, _ = torch.linalg.qr(torch.randn(6, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1)))
    a, b = singular_spectrum(z), singular_spectrum(1e-3 * z @ turn + 5)
    for rank in (spectrum.entropy_rank, spectrum.stable_rank, spectrum.participation_ratio):
        assert rank(a) == pytest.approx(rank(b))


@pytest.mark.parametrize("shape", [(1000, 20), (101, 100), (60, 200), (300, 100)])
def test_the_rank_of_noise_is_that_of_gaussian_numbers(shape: tuple[int, int]) -> None:
    z = torch.from_numpy(np.random.default_rng(0).normal(size=shape))
    assert spectrum.noise_rank(*shape) == pytest.approx(effective_rank(z), rel=0.01)


def test_relative_spread_is_the_share_of_length_that_is_not_the_mean() -> None:
    assert relative_spread(torch.tensor([[3.0, 4.0], [3.0, 4.0]])) == 0
    assert relative_spread(torch.zeros(3, 2)) == 0
    assert relative_spread(torch.tensor([[1.0, 0.0], [-1.0, 0.0]])) == 1
    assert relative_spread(torch.tensor([[1.0], [3.0]])) == pytest.approx((1 / 5) ** 0.5)  # spread² 1, length² 5


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200, 1e300])
def test_ranks_of_very_large_and_very_small_numbers_are_those_of_ordinary_ones(scale: float) -> None:
    for rank in (spectrum.stable_rank, spectrum.participation_ratio, spectrum.entropy_rank, spectrum.numerical_rank):
        assert rank(scale * SIGMA) == pytest.approx(rank(SIGMA))
    assert spectrum.variance_share(scale * SIGMA, 1) == pytest.approx(4 / 6)
    assert spectrum.directions_for(scale * SIGMA, 0.7) == 2
