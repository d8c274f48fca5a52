"""The cosine of a zero row is the constant 0: no loss has a gradient there, and all other gradients are exact."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from nmrgcl.contrast import across_views, bootstrap_loss, cca_loss, cosine, graphcl_loss, infonce, merit_loss
from nmrgcl.contrast.cosine import unit_rows
from nmrgcl.ops import SHORTEST

Loss = Callable[[Tensor, Tensor], Tensor]
TAUGHT = tuple(torch.randn(2, 6, 4, generator=torch.Generator().manual_seed(5), dtype=torch.float64))
LOSSES: dict[str, Loss] = {
    "infonce": infonce,
    "infonce with removal": lambda z1, z2: infonce(z1, z2, delta=0.7),
    "infonce with a given positive": lambda z1, z2: infonce(z1, z2, positive=cosine(z1, z2)),
    "graphcl": graphcl_loss,
    "graphcl with removal": lambda z1, z2: graphcl_loss(z1, z2, delta=0.7),
    "merit": lambda z1, z2: merit_loss((z1, z2), (TAUGHT[0], TAUGHT[1])),
    "across": across_views,
    "bootstrap": lambda z1, z2: bootstrap_loss(z1, z2, TAUGHT[0], TAUGHT[1]),
}


def views(seed: int = 0) -> tuple[Tensor, Tensor]:
    """Row 0 is zero in the first view, row 1 in the second, row 2 in both."""
    z1, z2 = torch.randn(2, 6, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    z1[[0, 2]] = 0
    z2[[1, 2]] = 0
    return z1, z2


@pytest.fixture(params=["dense", "streamed"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmrgcl.ops.similarities.TILE", 4)
    if request.param == "streamed":
        monkeypatch.setattr("nmrgcl.ops.negatives.DENSE_ROWS", 0)


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("name", LOSSES)
def test_a_zero_row_has_no_gradient_and_other_rows_have_the_exact_one(name: str) -> None:
    z1, z2 = (z.requires_grad_() for z in views())
    g1, g2 = torch.autograd.grad(LOSSES[name](z1, z2), (z1, z2))
    assert not g1[[0, 2]].any()
    assert not g2[[1, 2]].any()

    def of_others(first: Tensor, second: Tensor) -> Tensor:
        zero = torch.zeros(1, 4, dtype=torch.float64)
        return LOSSES[name](
            torch.cat([zero, first[:1], zero, first[1:]]), torch.cat([second[:1], zero, zero, second[1:]])
        )

    others = z1.detach()[[1, 3, 4, 5]].requires_grad_(), z2.detach()[[0, 3, 4, 5]].requires_grad_()
    assert torch.autograd.gradcheck(of_others, others)
    expected = torch.autograd.grad(of_others(*others), others)
    torch.testing.assert_close((g1[[1, 3, 4, 5]], g2[[0, 3, 4, 5]]), expected, atol=1e-14, rtol=0)


def test_a_row_of_which_removal_leaves_nothing_has_no_gradient_from_its_positive() -> None:
    """By hand: dimension 0 is the maximum of z1's row, and all that z2's row has."""
    z1, z2 = torch.tensor([[1.0, 0.5], [0.5, 1.0]]), torch.tensor([[3.0, 0.0], [0.0, 2.0]]).requires_grad_()
    for loss in (infonce, graphcl_loss):
        (found,) = torch.autograd.grad(loss(z1, z2, delta=0.5), z2)
        (without,) = torch.autograd.grad(loss(z1, z2, positive=torch.zeros(2)), z2)
        torch.testing.assert_close(found, without, rtol=0, atol=0)
        assert float(found.abs().max()) < 10


def test_rows_are_zero_up_to_the_shortest_length_and_not_beyond() -> None:
    z = torch.tensor([[SHORTEST, 0.0], [0.0, -2 * SHORTEST]], dtype=torch.float64, requires_grad=True)
    unit = unit_rows(z)
    assert unit.tolist() == [[0.0, 0.0], [0.0, -1.0]]
    unit.backward(torch.ones_like(z))
    assert z.grad is not None
    assert z.grad.tolist() == [[0.0, 0.0], [0.5 / SHORTEST, 0.0]]


@pytest.mark.parametrize("value", [0.0, 0.1])
def test_a_constant_column_has_no_gradient_in_cca(value: float) -> None:
    z1, z2 = torch.randn(2, 9, 3, generator=torch.Generator().manual_seed(0))
    z1[:, 1] = value
    (g1,) = torch.autograd.grad(cca_loss(z1.requires_grad_(), z2), z1)
    assert not g1[:, 1].any()
    assert 0 < float(g1.abs().max()) < 10
    agreement = cca_loss(z1, z2, decorrelate=0)
    assert float(agreement.detach()) == pytest.approx(float(cca_loss(z1[:, ::2], z2[:, ::2], decorrelate=0).detach()))


@pytest.mark.parametrize("bad", [torch.inf, -torch.inf, torch.nan])
def test_a_batch_of_one_has_neither_loss_nor_gradient_whatever_it_holds(bad: float) -> None:
    z1, z2 = torch.tensor([[1.0, bad]], requires_grad=True), torch.tensor([[bad, 0.0]], requires_grad=True)
    with pytest.warns(UserWarning, match="no negatives"):
        loss = infonce(z1, z2)
    assert [g.tolist() for g in torch.autograd.grad(loss, (z1, z2))] == [[[0.0, 0.0]], [[0.0, 0.0]]]
    assert float(loss.detach()) == 0
