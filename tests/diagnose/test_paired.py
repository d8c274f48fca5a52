import numpy as np
import pytest
import torch
from scipy.stats import ttest_rel

from nmrgcl.diagnose.measure import measure
from nmrgcl.diagnose.paired import compare_measures, say_which_is_flatter


def measured(seed: int, fall: float) -> dict[str, object]:
    z = torch.randn(80, 10, generator=torch.Generator().manual_seed(seed)) * fall ** torch.arange(10)
    return measure(z).to_dict()


def test_differences_and_their_intervals_are_scipys() -> None:
    first, second = [measured(s, 0.7) for s in range(4)], [measured(s + 9, 0.8) for s in range(4)]
    found = next(one for one in compare_measures(first, second) if one.measure == "stable_rank")
    a, b = (np.array([one["stable_rank"] for one in many], dtype=float) for many in (first, second))
    interval = ttest_rel(b, a).confidence_interval(0.95)
    assert found.difference == pytest.approx((b - a).mean())
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))


def test_the_sentence_follows_the_interval() -> None:
    steep, flat = [measured(s, 0.6) for s in range(4)], [measured(s + 9, 0.9) for s in range(4)]
    assert say_which_is_flatter(compare_measures(steep, flat)).startswith("The second has the flatter")
    assert say_which_is_flatter(compare_measures(flat, steep)).startswith("The first has the flatter")
    assert say_which_is_flatter(compare_measures(flat, flat)).startswith("Neither")
    assert say_which_is_flatter(compare_measures(flat[:1], steep[:1])).startswith("One pair decides nothing")
