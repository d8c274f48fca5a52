"""The effect of one or a few rows on the verdict, and how the sentence mentions it."""

import numpy as np
import pytest
import torch

from nmrgcl.diagnose.measure import measure
from nmrgcl.diagnose.verdict import clip_long_rows, judge_collapse


def noise(rows: int = 300, width: int = 16) -> torch.Tensor:
    return torch.randn(rows, width, generator=torch.Generator().manual_seed(0))


def test_one_outlier_row_that_makes_the_verdict_is_named() -> None:
    z = noise()
    assert judge_collapse(z).clipped is None
    z[7] *= 1000
    found = judge_collapse(z)
    assert (found.kind, found.long_rows) == ("dimensional", 1)
    assert found.clipped is not None
    assert (found.clipped.kind, found.clipped.used) == ("none", pytest.approx(1, abs=0.02))
    assert "But 1 long row carries this verdict" in found.sentence
    assert "it is none" in found.sentence
    facts = measure(z).to_dict()
    assert (facts["long_rows"], facts["clipped"]["verdict"]) == (1, "none")


@pytest.mark.parametrize("freedom", [1.0, 1.2])
def test_heavy_tails_that_make_the_verdict_are_named(freedom: float) -> None:
    z = torch.from_numpy(np.random.default_rng(0).standard_t(freedom, size=(300, 16)))
    found = judge_collapse(z)
    assert found.kind == "dimensional"
    assert f"But {found.long_rows} long rows carry this verdict" in found.sentence


def test_a_collapse_that_is_not_due_to_long_rows_is_called_so_without_a_doubt() -> None:
    z = noise()[:, :3] @ noise(3, 16)
    z[7] *= 1000
    found = judge_collapse(z)
    assert found.kind == "dimensional"
    assert found.long_rows > 0
    assert "But" not in found.sentence


def test_long_rows_are_cut_to_three_median_distances_from_the_median_by_hand() -> None:
    """Four rows are at distance 1 from the median (0, 0), and one at 100, which is cut to 3."""
    z = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.0, 100.0], [0.0, 0.0], [0.0, -1.0]])
    assert z.median(0).values.tolist() == [0.0, 0.0]
    short, count = clip_long_rows(z)
    assert count == 1
    scale = float(short[0, 0])  # The result is scaled.
    assert (short / scale)[4].tolist() == pytest.approx([0.0, 3.0])
    assert (short / scale)[[0, 1, 2, 3, 5, 6]].tolist() == z[[0, 1, 2, 3, 5, 6]].tolist()


def test_rows_of_which_most_are_equal_are_not_cut() -> None:
    z = torch.zeros(9, 3)
    z[0] = 5.0
    assert clip_long_rows(z)[1] == 0
