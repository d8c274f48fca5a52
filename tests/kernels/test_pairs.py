"""The fused losses against the matrix forms in float64."""

import pytest
import torch

from nmrgcl.contrast import graphcl_loss, infonce
from nmrgcl.contrast.fused import fused_loss
from tests.kernels import DEVICE


@pytest.mark.parametrize("loss", [infonce, graphcl_loss])
@pytest.mark.parametrize("delta", [None, 0.0, 0.6, 1.0])
@pytest.mark.parametrize(("graphs", "width"), [(2, 3), (37, 12), (70, 96), (40, 300)])
def test_a_fused_loss_and_its_gradient_equal_the_matrix_form(  # type: ignore[no-untyped-def]
    graphs: int, width: int, delta: float | None, loss
) -> None:
    torch.manual_seed(graphs)
    exact = torch.randn(2 * graphs, width, dtype=torch.float64, requires_grad=True)
    expected = 3 * loss(*exact.chunk(2), delta=delta, tau=0.3)
    expected.backward()
    z = exact.detach().float().to(DEVICE).requires_grad_()
    found = 3 * fused_loss(*z.chunk(2), delta=delta, tau=0.3, counted=loss is infonce)
    found.backward()
    torch.testing.assert_close(found.detach().cpu().double(), expected.detach(), atol=1e-5, rtol=1e-5)
    assert z.grad is not None
    assert exact.grad is not None
    torch.testing.assert_close(z.grad.cpu().double(), exact.grad, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("counted", [True, False])
def test_rows_of_zeros_and_constant_rows_are_no_trouble(counted: bool) -> None:
    z = torch.zeros(8, 5, device=DEVICE)
    z[1] = 2.0
    z[6] = torch.arange(5.0)
    found = fused_loss(z[:4], z[4:], delta=0.5, tau=0.2, counted=counted)
    plain = (infonce if counted else graphcl_loss)(z[:4].cpu(), z[4:].cpu(), delta=0.5, tau=0.2)
    torch.testing.assert_close(found.cpu(), plain)
