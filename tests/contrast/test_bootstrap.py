"""The loss without negatives, by hand and by its definition."""

import pytest
import torch
from torch.nn.functional import cosine_similarity

from nmrgcl.contrast import bootstrap_loss


def test_a_prediction_is_compared_with_the_target_in_the_other_view() -> None:
    east, north = torch.tensor([[3.0, 0.0]]), torch.tensor([[0.0, 0.5]])
    assert float(bootstrap_loss(east, north, north, east)) == 0.0  # p1 meets t2, p2 meets t1
    assert float(bootstrap_loss(east, north, east, north)) == 2.0
    assert float(bootstrap_loss(east, north, -north, -east)) == 4.0


def test_it_is_the_mean_over_rows_and_follows_the_gradient_of_predictions() -> None:
    generator = torch.Generator().manual_seed(0)
    p1, p2, t1, t2 = torch.randn(4, 7, 3, generator=generator, dtype=torch.float64)
    expected = sum(
        2 - float(cosine_similarity(p1[i], t2[i], dim=0)) - float(cosine_similarity(p2[i], t1[i], dim=0))
        for i in range(7)
    )
    assert float(bootstrap_loss(p1, p2, t1, t2)) == pytest.approx(expected / 7, abs=1e-12)
    predictions = p1.requires_grad_(), p2.requires_grad_()
    assert torch.autograd.gradcheck(lambda a, b: bootstrap_loss(a, b, t1, t2), predictions)
