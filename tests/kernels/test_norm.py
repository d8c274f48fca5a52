"""The fused norm against the plain one, in Triton's interpreter where there is no GPU."""

import os

import pytest
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"
pytest.importorskip("triton", reason="Triton is not installed: it comes with PyTorch's builds for GPUs")

from nmrgcl.encode.norm import MaskedBatchNorm, _FusedNorm

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.mark.parametrize(("rows", "width"), [(1, 3), (7, 8), (130, 32), (300, 20)])
@pytest.mark.parametrize("share", [1.0, 0.6, 0.0])
def test_the_fused_norm_equals_the_plain_one_in_float64(rows: int, width: int, share: float) -> None:
    torch.manual_seed(0)
    h = torch.randn(rows, width) * 3 + 50  # far from zero, where sums of squares would cancel
    keep, grad = torch.rand(rows) < share, torch.randn(rows, width)
    norm = MaskedBatchNorm(width).double()
    torch.nn.init.uniform_(norm.weight)
    torch.nn.init.uniform_(norm.bias)
    exact = h.double().requires_grad_()
    expected = exact
    if rows > 1:  # the module treats one row as in evaluation
        expected = norm(exact, keep)
        expected.backward(grad.double())
    ours = h.to(DEVICE).requires_grad_()
    weight, bias = (p.detach().float().to(DEVICE).requires_grad_() for p in (norm.weight, norm.bias))
    found, mean, _, count = _FusedNorm.apply(ours, keep.to(DEVICE), weight, bias, norm.eps)
    found.backward(grad.to(DEVICE))
    assert int(count[0]) == int(keep.sum())
    if rows == 1 or share == 0.0:
        assert torch.isfinite(found).all()
        return
    torch.testing.assert_close(found.double().cpu(), expected.detach(), atol=2e-4, rtol=2e-4)
    torch.testing.assert_close(mean.double().cpu(), norm.running_mean * 10, atol=1e-4, rtol=1e-5)
    for one, two in ((ours, exact), (weight, norm.weight), (bias, norm.bias)):
        assert one.grad is not None
        assert two.grad is not None
        torch.testing.assert_close(one.grad.double().cpu(), two.grad, atol=1e-3, rtol=1e-3)
