import torch
from torch.nn.functional import embedding

from nmrgcl.encode.gin import _LookUp


def test_looking_up_has_the_gradient_of_an_embedding() -> None:
    torch.manual_seed(0)
    table, row, grad = torch.randn(5, 3, dtype=torch.float64), torch.randint(5, (11,)), torch.randn(11, 3).double()
    one, two = (table.clone().requires_grad_() for _ in range(2))
    found, expected = _LookUp.apply(one, row), embedding(row, two)
    assert torch.equal(found, expected)
    found.backward(grad)
    expected.backward(grad)
    assert one.grad is not None
    assert two.grad is not None
    torch.testing.assert_close(one.grad, two.grad)
