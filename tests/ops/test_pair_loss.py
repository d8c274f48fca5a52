"""The fused losses against the matrix forms in float64."""

import pytest
import torch

from nmrgcl.contrast import graphcl_loss, infonce
from nmrgcl.ops.pair_loss import fused_loss
from tests.ops import DEVICE


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


@pytest.mark.parametrize("delta", [None, 0.5])
@pytest.mark.parametrize("counted", [True, False])
def test_rows_of_zeros_have_no_gradient_and_constant_rows_are_no_trouble(counted: bool, delta: float | None) -> None:
    torch.manual_seed(0)
    z = torch.randn(16, 5)
    z[[0, 2, 10]] = 0.0  # in view 1, in both, in view 2
    z[1] = 2.0
    z[3], z[11] = torch.arange(5.0), torch.tensor([0.0, 0.0, 0.0, 2.0, 1.0])  # at 0.5 removal leaves nothing of row 11
    exact, loss = z.double().requires_grad_(), infonce if counted else graphcl_loss
    expected = loss(*exact.chunk(2), delta=delta, tau=0.2)
    expected.backward()
    z = z.to(DEVICE).requires_grad_()
    found = fused_loss(*z.chunk(2), delta=delta, tau=0.2, counted=counted)
    found.backward()
    torch.testing.assert_close(found.detach().cpu().double(), expected.detach(), atol=1e-5, rtol=1e-5)
    assert z.grad is not None
    assert exact.grad is not None
    assert not z.grad[[0, 2, 10]].any()
    torch.testing.assert_close(z.grad.cpu().double(), exact.grad, atol=1e-5, rtol=1e-4)
