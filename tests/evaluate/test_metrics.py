"""Metrics of several tasks: by hand, and equal to scikit-learn's where labels are missing and scores are equal."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score, mean_absolute_error, mean_squared_error, roc_auc_score
from torch import Tensor

from nmrgcl.evaluate.metrics import average_precision, mae, rmse, roc_auc

NAN = float("nan")


def column(*values: float) -> Tensor:
    return torch.tensor(values)[:, None]


def test_areas_by_hand() -> None:
    labels, scores = column(0, 0, 1, 1), column(0.1, 0.4, 0.35, 0.8)
    assert roc_auc(scores, labels).item() == 0.75  # of four pairs, (0.4, 0.35) alone is out of order
    assert average_precision(scores, labels).item() == pytest.approx((2 / 3 + 1) / 2)
    equal = torch.zeros(4, 1)
    assert roc_auc(equal, labels).item() == 0.5
    assert average_precision(equal, labels).item() == 0.5
    assert roc_auc(-scores, labels).item() == 0.25
    # A positive at 2 has a negative below it, one at 2 and one above: 1.5 of 3 pairs.
    assert roc_auc(column(1, 2, 2, 3), column(0, 0, 1, 0)).item() == 0.5


def test_errors_by_hand() -> None:
    labels = torch.tensor([[1.0, 5.0], [2.0, NAN], [NAN, NAN]])
    predicted = torch.tensor([[4.0, 3.0], [6.0, 100.0], [-100.0, 7.0]])
    assert rmse(predicted, labels).tolist() == [pytest.approx(12.5**0.5), 2.0]
    assert mae(predicted, labels).tolist() == [3.5, 2.0]


def test_a_task_that_has_no_score_is_left_out_of_the_mean() -> None:
    labels = torch.tensor([[0, 1, NAN, 0], [1, 1, NAN, 0], [NAN, NAN, NAN, 1]])
    scores = torch.tensor([[1.0, 1, 1, 1], [2, 2, 2, 2], [0, 3, 3, 3]])
    for metric in (roc_auc, average_precision):
        found = metric(scores, labels)
        assert found.isnan().tolist() == [False, True, True, False]
        assert found.nanmean().item() == 1.0
    for error in (rmse, mae):
        assert error(scores, labels).isnan().tolist() == [False, False, True, False]


def rough(seed: int) -> tuple[Tensor, Tensor]:
    """Scores of which many are equal, and labels of 0 and 1 of which a third is missing."""
    generator = torch.Generator().manual_seed(seed)
    scores = (torch.randn(60, 7, generator=generator) * 3).round() / 3
    labels = (scores + 2 * torch.randn(60, 7, generator=generator) > 0.5).float()
    return scores, labels.masked_fill(torch.rand(60, 7, generator=generator) < 1 / 3, NAN)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("metric", "theirs"), [(roc_auc, roc_auc_score), (average_precision, average_precision_score)])
def test_areas_equal_scikit_learns(
    seed: int, metric: Callable[[Tensor, Tensor], Tensor], theirs: Callable[..., float]
) -> None:
    scores, labels = rough(seed)
    found = metric(scores, labels)
    assert len(scores.unique()) < 40
    for task in range(7):
        known = ~labels[:, task].isnan()
        expected = theirs(labels[known, task].numpy(), scores[known, task].numpy())
        assert found[task].item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_errors_equal_scikit_learns(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    predicted, labels = torch.randn(2, 50, 4, generator=generator, dtype=torch.float64)
    labels[torch.rand(50, 4, generator=generator) < 0.3] = NAN
    for task in range(4):
        known = ~labels[:, task].isnan()
        pair = labels[known, task].numpy(), predicted[known, task].numpy()
        assert rmse(predicted, labels)[task].item() == pytest.approx(np.sqrt(mean_squared_error(*pair)), abs=1e-12)
        assert mae(predicted, labels)[task].item() == pytest.approx(mean_absolute_error(*pair), abs=1e-12)


@pytest.mark.parametrize("metric", [roc_auc, average_precision])
def test_areas_depend_on_the_order_of_scores_alone(metric: Callable[[Tensor, Tensor], Tensor]) -> None:
    scores, labels = rough(0)
    found = metric(scores, labels)
    assert torch.equal(metric(scores.double().exp(), labels), found)
    order = torch.randperm(60)
    torch.testing.assert_close(metric(scores[order], labels[order]), found, atol=1e-14, rtol=0)


def test_large_numbers_of_pairs_are_counted_exactly() -> None:
    """Four hundred million pairs, of which one is out of order: float32 would not see it."""
    scores = torch.arange(40_000)[:, None].double()
    labels = (scores >= 20_000).float()
    labels[19_999], labels[20_000] = 1, 0
    assert 1 - roc_auc(scores, labels).item() == pytest.approx(1 / 20_000**2, rel=1e-6)
