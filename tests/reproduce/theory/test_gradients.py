import pytest
import torch

from nmrgcl.contrast import infonce
from nmrgcl.reproduce.theory.gradients import check_gradients, loss_gradient, pair_loss, printed_gradient

Z = torch.randn(2, 5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def test_on_the_sphere_the_loss_is_eq_14() -> None:
    unit = Z / Z.norm(dim=2, keepdim=True)
    assert float(pair_loss(unit, 0.3).mean()) == pytest.approx(float(infonce(Z[0], Z[1], tau=0.3)))


@pytest.mark.parametrize("tau", [0.2, 1.0, 3.0])
def test_the_corrected_gradient_is_autograds(tau: float) -> None:
    z = Z.clone().requires_grad_()
    (exact,) = torch.autograd.grad(pair_loss(z, tau).sum(), z)
    torch.testing.assert_close(loss_gradient(Z, tau), exact, rtol=1e-10, atol=1e-12)


def test_the_printed_gradient_is_right_at_temperature_one_only() -> None:
    for tau, right in ((1.0, True), (0.5, False)):
        z = Z.clone().requires_grad_()
        (exact,) = torch.autograd.grad(pair_loss(z, tau)[0, 2], z)
        found = torch.stack(printed_gradient(Z, tau, 2))
        assert torch.allclose(found, exact[:, 2], rtol=1e-10) is right


def test_what_is_claimed_of_eq_6() -> None:
    assert [claim.holds for claim in check_gradients()] == [True, False, True, True, False, True]
