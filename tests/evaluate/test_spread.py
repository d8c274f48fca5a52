"""Mean and deviation over seeds, in numbers and words."""

import numpy as np
import pytest

from nmrgcl.evaluate.spread import by_seed, with_spread


def test_mean_and_deviation_are_over_seeds() -> None:
    found = by_seed(np.array([[50.0, 60.0], [70.0, 80.0]]))
    assert found == {"mean": 65.0, "std": pytest.approx(20 / 2**0.5), "scores": [55.0, 75.0]}
    assert with_spread(found["mean"], found["std"]) == "65.00 ± 14.14"


def test_one_score_has_no_deviation_however_many_folds_it_is_the_mean_of() -> None:
    found = by_seed(np.array([[50.0, 60.0]]))
    assert found == {"mean": 55.0, "std": None, "scores": [55.0]}
    assert with_spread(found["mean"], found["std"]) == "55.00"


def test_equal_scores_have_a_deviation_of_zero() -> None:
    assert with_spread(**{key: by_seed(np.array([[55.0], [55.0]]))[key] for key in ("mean", "std")}) == "55.00 ± 0.00"
