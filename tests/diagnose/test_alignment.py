import math

import pytest
import torch

from nmrgcl.contrast.removal import non_maximum
from nmrgcl.diagnose import alignment as measured
from nmrgcl.diagnose.alignment import alignment, prominent, prominent_overlap, uniformity


def test_alignment_of_equal_opposite_and_orthogonal_pairs() -> None:
    z = torch.tensor([[2.0, 0.0], [0.0, 3.0]])
    assert alignment(z, 5 * z) == 0
    assert alignment(z, -z) == pytest.approx(4)
    assert alignment(z, z.flip(1)) == pytest.approx(2)


def test_uniformity_is_the_slow_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    z = torch.randn(11, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    unit = [row / row.norm() for row in z]
    pairs = [math.exp(-2 * float((a - b) @ (a - b))) for i, a in enumerate(unit) for j, b in enumerate(unit) if i != j]
    expected = math.log(sum(pairs) / len(pairs))
    assert uniformity(z) == pytest.approx(expected)
    monkeypatch.setattr(measured, "BLOCK", 4)
    assert uniformity(z) == pytest.approx(expected)


def test_uniformity_of_known_sets() -> None:
    assert uniformity(torch.ones(5, 3)) == pytest.approx(0)
    assert uniformity(torch.tensor([[1.0, 0.0], [-1.0, 0.0]])) == pytest.approx(-8)


def test_prominent_entries_are_those_that_removal_removes() -> None:
    z = torch.randn(20, 16, generator=torch.Generator().manual_seed(0))
    assert torch.equal(prominent(z, 0.7), non_maximum(z, 0.7) == 0)


def test_overlap_of_prominent_dimensions_by_hand() -> None:
    first = torch.tensor([[0.0, 1.0, 0.9, 0.1], [1.0, 0.0, 0.0, 0.0], [2.0, 2.0, 2.0, 2.0]])
    second = torch.tensor([[0.0, 1.0, 0.1, 0.8], [0.0, 1.0, 0.0, 0.0], [3.0, 3.0, 3.0, 3.0]])
    # {1, 2} and {1, 3} share one of three; {0} and {1} none; the constant row has none and is left out.
    assert prominent_overlap(first, second) == pytest.approx((1 / 3 + 0) / 2)
    assert prominent_overlap(first, first) == 1
    assert prominent_overlap(first[2:], second[2:]) == 0
