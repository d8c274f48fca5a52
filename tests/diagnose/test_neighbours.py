"""Agreement of nearest neighbours, and the decay of spectra, by hand."""

import math

import pytest
import torch

from nmrgcl.diagnose.neighbours import neighbour_agreement
from nmrgcl.diagnose.spectrum import spectrum_decay

ANGLES = torch.tensor([0.0, 0.1, 0.3, 3.0, 3.1])


def on_circle(angles: torch.Tensor) -> torch.Tensor:
    return torch.stack([angles.cos(), angles.sin()], 1)


def test_neighbours_of_five_points_on_a_circle() -> None:
    z = on_circle(ANGLES)
    assert neighbour_agreement(z, z, 2) == 1
    assert neighbour_agreement(z, 7 * z, 1) == 1  # Lengths do not matter.
    # The nearest are 1 0 1 4 3. With the third point moved next to the fourth they are 1 0 3 2 3: three of five agree.
    moved = on_circle(torch.tensor([0.0, 0.1, 2.95, 3.0, 3.1]))
    assert neighbour_agreement(z, moved, 1) == pytest.approx(3 / 5)
    assert neighbour_agreement(z, moved, 1) == neighbour_agreement(moved, z, 1)


def test_it_is_the_mean_overlap_of_sorted_lists_and_chance_for_unrelated_rows() -> None:
    chance = torch.Generator().manual_seed(0)
    first, second = (torch.randn(300, 8, generator=chance, dtype=torch.float64) for _ in range(2))
    total = 0
    for i in range(300):
        lists = []
        for z in (first, second):
            similar = [float(torch.cosine_similarity(z[i], z[j], dim=0)) for j in range(300)]
            lists.append(set(sorted((j for j in range(300) if j != i), key=lambda j: -similar[j])[:10]))
        total += len(lists[0] & lists[1])
    found = neighbour_agreement(first, second)
    assert found == pytest.approx(total / 3000)
    assert found == pytest.approx(10 / 299, abs=0.015)


def test_few_rows_are_all_neighbours() -> None:
    assert neighbour_agreement(torch.randn(4, 3), torch.randn(4, 3)) == 1
    assert neighbour_agreement(torch.randn(1, 3), torch.randn(1, 3)) == 1


@pytest.mark.parametrize("power", [0.0, 1.0, 2.5])
def test_the_decay_of_a_power_law_is_its_power(power: float) -> None:
    values = torch.arange(1, 65, dtype=torch.float64) ** (-power / 2)
    assert spectrum_decay(values) == pytest.approx(power, abs=1e-9)
    assert spectrum_decay(1e-200 * values) == pytest.approx(power, abs=1e-9)


def test_the_decay_of_two_values_is_a_line_through_both() -> None:
    assert spectrum_decay(torch.tensor([4.0, 1.0])) == pytest.approx(math.log(16) / math.log(2))
    assert spectrum_decay(torch.tensor([4.0, 1.0, 1e-9])) == pytest.approx(4)  # A rounding error is left out.
    assert spectrum_decay(torch.tensor([4.0, 0.0])) == spectrum_decay(torch.zeros(3)) == 0
