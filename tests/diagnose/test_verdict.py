import numpy as np
import pytest
import torch

from nmrgcl.diagnose.verdict import judge_collapse
from tests.diagnose.calibration import calibrate, sum_up


def noise(rows: int, width: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(rows, width, generator=torch.Generator().manual_seed(seed))


def test_planted_cases_are_called_what_they_are() -> None:
    table = calibrate(cases=40, seed=1)
    shares = sum_up(table)
    assert min(shares["complete"], shares["dimensional"], shares["none"]) >= 0.99
    assert shares["false_alarms"] <= 0.01
    assert all(row.complete + row.dimensional + row.none == row.planted for row in table)


def test_one_example_of_each_kind_in_words() -> None:
    z = noise(200, 8)
    point = judge_collapse(5 + 1e-4 * z)
    assert (point.kind, point.without_noise().used) == ("complete", 0)
    assert point.used > 0.9  # The noise spans all dimensions.
    assert point.sentence.startswith("0 of 8 dimensions are used: complete collapse.")
    flat = judge_collapse(z[:, :2] @ noise(2, 8))
    assert flat.kind == "dimensional"
    assert flat.sentence.startswith("2 of 8 dimensions are used: dimensional collapse.")
    assert "6 directions are nearly empty" in flat.sentence
    full = judge_collapse(z)
    assert (full.kind, full.used) == ("none", pytest.approx(1, abs=0.01))
    assert (
        full.sentence
        == "8 of 8 dimensions are used: no collapse. Embeddings without a preferred direction would use 8."
    )


def test_few_rows_are_judged_by_what_they_could_show() -> None:
    found = judge_collapse(noise(20, 100))
    assert (found.kind, found.possible) == ("none", 19)
    assert "20 rows cannot show all 100" in found.sentence


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-6, 1.0, 1e6, 1e200, 1e300])
def test_the_verdict_does_not_depend_on_units(scale: float) -> None:
    for z, kind in (
        (noise(100, 10), "none"),
        (noise(100, 3) @ noise(3, 10), "dimensional"),
        (3 + 1e-5 * noise(100, 10), "complete"),
    ):
        assert judge_collapse(scale * z.double()).kind == kind


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("missing", [1, 3])
def test_a_proper_subspace_is_dimensional_collapse_and_the_verdict_names_its_rank(
    missing: int, dtype: torch.dtype
) -> None:
    turn = torch.linalg.qr(noise(32, 32, seed=1).double()).Q
    z = (noise(500, 32).double() * (torch.arange(32) < 32 - missing)) @ turn
    found = judge_collapse(z.to(dtype))
    assert (found.kind, found.rank, found.empty) == ("dimensional", 32 - missing, missing)
    assert f"Definition 1: rank {32 - missing} of 32" in found.sentence
    assert found.rank == np.linalg.matrix_rank((z - z.mean(0)).numpy(), rtol=1e-6)


def test_few_rows_are_no_proper_subspace() -> None:
    assert judge_collapse(noise(20, 32)).rank == 19
    assert judge_collapse(noise(20, 32)).kind == "none"


def test_two_rows_are_enough_to_say_something() -> None:
    assert judge_collapse(torch.tensor([[0.0, 1.0], [1.0, 0.0]])).kind == "none"
    assert judge_collapse(torch.ones(2, 3)).kind == "complete"
    assert "Only 2 rows" in judge_collapse(torch.ones(2, 3)).sentence
    assert "Only" not in judge_collapse(torch.ones(20, 3)).sentence
    assert judge_collapse(torch.tensor([[1.0], [2.0], [3.0]])).kind == "none"
