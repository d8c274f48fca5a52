"""Dropout on a CPU: its rate, its scale and its gradient, against PyTorch's."""

import pytest
import torch
from torch.nn import functional

from nmrgcl.ops.dropout import BITS, dropout
from nmrgcl.ops.forms import switched_off


@pytest.mark.parametrize("p", [0.1, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_units_are_dropped_at_the_rate_and_the_others_keep_the_mean(p: float, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    found = dropout(torch.ones(500, 401, dtype=dtype), p)
    share = (found == 0).double().mean()
    assert share == pytest.approx(p, abs=4 * (p * (1 - p) / found.numel()) ** 0.5)
    assert found[found != 0].double().unique().tolist() == [pytest.approx(1 / (1 - p), rel=1e-2)]


def test_every_place_of_a_random_number_is_dropped_at_the_same_rate() -> None:
    torch.manual_seed(0)
    shares = (dropout(torch.ones(100_000, 4), 0.3) == 0).double().mean(0)
    assert shares.tolist() == [pytest.approx(0.3, abs=0.006)] * 4
    assert torch.corrcoef((dropout(torch.ones(100_000, 4), 0.5).T == 0).double()).fill_diagonal_(0).abs().max() < 0.015


@pytest.mark.parametrize("shape", [(), (1,), (3, 5), (2, 0), (7, 3, 2)])
def test_any_shape(shape: tuple[int, ...]) -> None:
    h = torch.rand(shape).transpose(0, -1) if len(shape) > 1 else torch.rand(shape)
    found = dropout(h, 0.5)
    assert found.shape == h.shape
    assert ((found == 0) | torch.isclose(found, 2 * h)).all()


def test_the_gradient_reaches_the_units_that_are_kept() -> None:
    h = torch.rand(20, 30, requires_grad=True)
    found = dropout(h, 0.25)
    found.sum().backward()
    assert h.grad is not None
    torch.testing.assert_close(h.grad, torch.where(found == 0, 0.0, 4 / 3), rtol=1e-6, atol=0)


def test_a_seed_repeats_bit_for_bit() -> None:
    first, second = (dropout(torch.ones(9, 7), 0.4) for _ in range(2) if torch.manual_seed(3))
    assert torch.equal(first, second)


def test_nothing_is_dropped_outside_of_training_or_at_rate_zero() -> None:
    h = torch.rand(4, 4)
    assert dropout(h, 0.5, training=False) is h
    assert dropout(h, 0.0) is h


def test_the_plain_form_is_pytorchs() -> None:
    h = torch.rand(4, 4)
    with switched_off(BITS):
        torch.manual_seed(1)
        ours = dropout(h, 0.5)
    torch.manual_seed(1)
    assert torch.equal(ours, functional.dropout(h, 0.5))
