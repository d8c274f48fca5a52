"""Looking names up, against the sum of PyTorch's embeddings."""

import pytest
import torch
from torch.nn.functional import embedding

from nmrgcl.ops import look_up as operation
from nmrgcl.ops.triton.look_up import look_up, look_up_gradient, name_counts
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


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("width", [3, 128, 300])
def test_how_often_a_row_names_each_category(width: int, dtype: torch.dtype) -> None:
    names = torch.randint(-1, width, (37, 2))
    names[5] = 1
    found = name_counts(names.to(DEVICE), width, dtype)
    assert found.dtype == dtype
    assert torch.equal(found.cpu().float(), (names[:, :, None] == torch.arange(width)).sum(1).float())
    assert float(found[5, 1]) == 2


@pytest.mark.parametrize("width", [32, 136])
@pytest.mark.parametrize("columns", [1, 2])
def test_every_form_looks_up_the_same(monkeypatch: pytest.MonkeyPatch, columns: int, width: int) -> None:
    table, names = (
        torch.randn(9, width, device=DEVICE, requires_grad=True),
        torch.randint(-1, 9, (20, columns)).to(DEVICE),
    )
    found = []
    for by_kernel in (False, True):
        monkeypatch.setattr(operation, "serve", lambda _, by_kernel=by_kernel: by_kernel)
        out = operation.look_up(table, names)
        found.append((out, *torch.autograd.grad(out.square().sum(), table)))
    for kernel, plain in zip(*found, strict=True):
        torch.testing.assert_close(kernel, plain, atol=1e-4, rtol=1e-4)
