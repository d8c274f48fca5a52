"""Eq. 13 and its ablations on rows worked by hand."""

import pytest
import torch

from nmrgcl.contrast import non_maximum, removal_masks
from nmrgcl.contrast.removal import non_minimum, random
from nmrgcl.errors import SettingError

# scaled to 0 … 1: (0, 0.25, 0.8, 1, 0.7) and (1, 0, 0.5, 0.5, 0.75)
Z = torch.tensor([[-2.0, 0.5, 6.0, 8.0, 5.0], [2.0, -2.0, 0.0, 0.0, 1.0]], dtype=torch.float64)


def test_the_most_prominent_dimensions_are_removed() -> None:
    assert non_maximum(Z, 0.7).tolist() == [[1, 1, 0, 0, 1], [0, 1, 1, 1, 0]]


def test_large_negative_entries_are_never_removed() -> None:
    assert non_maximum(torch.tensor([[-100.0, 0.0, 1.0]]), 0.5).tolist() == [[1, 0, 0]]


def test_delta_zero_keeps_the_minimum_and_delta_one_removes_nothing() -> None:
    assert non_maximum(Z, 0.0).tolist() == [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0]]
    assert non_maximum(Z, 1.0).tolist() == [[1] * 5] * 2
    assert non_maximum(Z, 3.0).tolist() == [[1] * 5] * 2


def test_a_constant_row_removes_nothing() -> None:
    for delta in (0.0, 0.7):
        assert non_maximum(torch.full((1, 4), 2.5), delta).tolist() == [[1] * 4]


def test_non_minimum_removes_as_many_of_the_smallest() -> None:
    assert non_minimum(Z, 0.7).tolist() == [[0, 0, 1, 1, 1], [1, 0, 0, 1, 1]]  # the tie goes to the first
    assert non_minimum(Z, 1.0).tolist() == [[1] * 5] * 2


def test_random_removes_as_many_of_any() -> None:
    torch.manual_seed(0)
    masks = torch.stack([random(Z, 0.7) for _ in range(2000)])
    assert bool((masks.sum(2) == 3).all())
    assert bool(((masks.mean(0) - 0.6).abs() < 0.05).all())


def test_both_masks_each_view_by_the_other() -> None:
    first, second = removal_masks("both", Z, Z.flip(0), delta=0.7)
    assert first is not None
    assert second is not None
    assert torch.equal(first, non_maximum(Z.flip(0), 0.7))
    assert torch.equal(second, non_maximum(Z, 0.7))


def test_none_removes_nothing_and_the_others_touch_the_second_view_only() -> None:
    assert removal_masks("none", Z, Z, delta=0.7) == (None, None)
    for kind in ("non_maximum", "random", "non_minimum"):
        first, second = removal_masks(kind, Z, Z, delta=0.7)
        assert first is None
        assert second is not None


def test_only_the_learned_gate_has_a_gradient() -> None:
    z = Z.clone().requires_grad_()
    gate = torch.zeros(5, dtype=torch.float64, requires_grad=True)
    for kind in ("non_maximum", "both", "random", "non_minimum"):
        assert not any(m is not None and m.requires_grad for m in removal_masks(kind, z, z, delta=0.7))
    _, second = removal_masks("learned", z, z, delta=0.7, gate=gate)
    assert second is not None
    assert second.tolist() == [0.5] * 5
    assert second.requires_grad


def test_an_unknown_kind_offers_the_nearest() -> None:
    with pytest.raises(SettingError, match="non_maximum"):
        removal_masks("non_max", Z, Z, delta=0.7)
