"""Looking names up, against the sum of PyTorch's embeddings."""

import pytest
import torch
from torch.nn.functional import embedding

from nmrgcl.ops.triton.look_up import look_up, look_up_gradient
from tests.ops import DEVICE


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize(("rows", "names", "width"), [(1, 1, 3), (70, 37, 32), (45, 130, 300)])
def test_looking_up_and_its_gradient_are_those_of_embeddings(rows: int, names: int, width: int, columns: int) -> None:
    torch.manual_seed(0)
    table = torch.randn(names, width, dtype=torch.float64, requires_grad=True)
    listed, grad = torch.randint(-1, names, (rows, columns)), torch.randn(rows, width, dtype=torch.float64)
    known = (listed >= 0)[..., None]
    expected = (embedding(listed.clamp(min=0), table) * known).sum(1)
    expected.backward(grad)
    on_device = listed.to(DEVICE)
    found = look_up(table.detach().float().to(DEVICE), on_device)
    torch.testing.assert_close(found.cpu().double(), expected.detach(), atol=1e-5, rtol=1e-5)
    of_table = look_up_gradient(grad.float().to(DEVICE), on_device, names)
    assert table.grad is not None
    torch.testing.assert_close(of_table.cpu().double(), table.grad, atol=1e-4, rtol=1e-4)
