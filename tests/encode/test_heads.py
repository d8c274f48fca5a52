"""Projection heads."""

import pytest
import torch
from torch import nn

from nmrgcl.encode import Head, heads


@pytest.mark.parametrize("activation", [nn.ELU, nn.PReLU])
def test_the_operation_for_relu_is_not_used_for_another_activation(
    activation: type[nn.Module], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(heads, "mlp")
    head, r = Head(32, activation=activation), torch.randn(5, 32)
    assert torch.equal(head(r), head[2](head[1](head[0](r))))
