"""Backwards through a ReLU."""

import pytest
import torch

from nmrgcl.ops.triton.gate import relu_back
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
