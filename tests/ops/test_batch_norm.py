"""The kernels of batch norm against the plain form."""

import pytest
import torch
from torch import Tensor

from nmrgcl.encode.norm import MaskedBatchNorm
from nmrgcl.ops.batch_norm import _KernelNorm
from tests.ops import DEVICE


def close(found: Tensor | None, expected: Tensor | None, tolerance: float) -> None:
    assert found is not None
    assert expected is not None
    torch.testing.assert_close(found.detach().double().cpu(), expected.detach(), atol=tolerance, rtol=tolerance)


def both_norms(width: int) -> tuple[MaskedBatchNorm, MaskedBatchNorm]:
    """The same norm in float64 on the CPU, and in float32 where kernels run."""
    exact, ours = MaskedBatchNorm(width).double(), MaskedBatchNorm(width)
    torch.nn.init.uniform_(exact.weight)
    torch.nn.init.uniform_(exact.bias)
    ours.load_state_dict(exact.state_dict())
    return exact, ours.to(DEVICE)


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("split", [None, 0.4, 0.7])
@pytest.mark.parametrize(("rows", "width"), [(7, 8), (130, 32), (300, 20), (40, 300)])
@pytest.mark.parametrize("share", [None, 1.0, 0.6])
def test_the_kernels_equal_the_plain_form_in_float64(
    rows: int, width: int, share: float | None, split: float | None, relu: bool
) -> None:
    torch.manual_seed(0)
    h = torch.randn(rows, width) * 3 + 50  # far from zero, where sums of squares would cancel
    keep = None if share is None else torch.rand(rows) < share
    row = None if split is None else torch.tensor([int(split * rows) + 1])
    # A block of columns of a wider matrix, as the gradient of a concatenation is.
    grad = torch.randn(rows, 2 * width)[:, width:]
    norm, ours = both_norms(width)
    exact = h.double().requires_grad_()
    expected = norm(exact, keep, row, relu=relu)
    expected.backward(grad.double())
    inputs = h.to(DEVICE).requires_grad_()
    keep, row = (None if t is None else t.to(DEVICE) for t in (keep, row))
    found = _KernelNorm.apply(inputs, keep, row, ours.weight, ours.bias, ours.parts, relu)
    found.backward(grad.to(DEVICE))
    close(found, expected, 2e-4)
    close(ours.running_mean, norm.running_mean, 1e-4)
    close(ours.running_var, norm.running_var, 1e-4)
    close(inputs.grad, exact.grad, 1e-3)
    close(ours.weight.grad, norm.weight.grad, 1e-3)
    close(ours.bias.grad, norm.bias.grad, 1e-3)


@pytest.mark.parametrize("rows", [1, 7])
def test_rows_without_any_that_is_kept_come_out_finite(rows: int) -> None:
    norm = MaskedBatchNorm(3).to(DEVICE)
    keep = torch.zeros(rows, dtype=torch.bool, device=DEVICE)
    out = _KernelNorm.apply(torch.randn(rows, 3, device=DEVICE), keep, None, norm.weight, norm.bias, norm.parts, False)
    assert torch.isfinite(out).all()
    assert torch.isfinite(norm.running_var).all()
