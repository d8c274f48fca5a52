"""The linear map with ReLU, in its form for a GPU."""

import pytest
import torch

from nmrgcl.ops import linear
from nmrgcl.ops.triton.linear import relu_back
from tests.ops import DEVICE


@pytest.mark.parametrize(("rows", "width"), [(1, 3), (70, 128), (300, 600)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_passes_and_its_sum(rows: int, width: int, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    out = torch.randn(rows, width, device=DEVICE).relu().to(dtype)
    grad = torch.randn(rows, 2 * width, device=DEVICE).to(dtype)[:, width:]
    passed, total = relu_back(grad, out)
    expected = torch.where(out > 0, grad, 0)
    assert torch.equal(passed, expected)
    torch.testing.assert_close(total, expected.float().sum(0), atol=1e-4, rtol=1e-4)


def test_gradients_are_those_of_the_plain_form(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    h, weight, bias = (torch.randn(*size, device=DEVICE, requires_grad=True) for size in ((70, 12), (40, 12), (40,)))
    grad, found = torch.randn(70, 40, device=DEVICE), []
    for by_kernel in (False, True):
        monkeypatch.setattr(linear, "serve", lambda _, by_kernel=by_kernel: by_kernel)
        out = linear.linear_relu(h, weight, bias)
        found.append([out, *torch.autograd.grad(out, [h, weight, bias], grad)])
    assert type(found[1][0].grad_fn).__name__ == "_LinearReLUBackward"
    for kernel, plain_form in zip(found[1], found[0], strict=True):
        torch.testing.assert_close(kernel, plain_form, atol=1e-4, rtol=1e-4)
