"""Fused GIN layers against the plain form in float64."""

from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from torch import nn

from nmrgcl.encode.gin import GINLayer
from nmrgcl.ops import gin
from tests.examples import random_graphs
from tests.ops import DEVICE
from tests.ops.test_batch_norm import close


@pytest.mark.parametrize("views", [1, 2])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("units", [16, 24, 32, 64])
@pytest.mark.parametrize("maps", [1, 2])
def test_a_fused_layer_equals_the_plain_one_in_float64(
    monkeypatch: pytest.MonkeyPatch, units: int, maps: int, masked: bool, views: int
) -> None:
    torch.manual_seed(units)
    graphs = replace(random_graphs([20, 31, 1, 17, 40, 25], density=0.2), views=views)
    if masked:
        pairs = (torch.rand(graphs.num_edges) < 0.8)[graphs.pair]
        graphs = graphs.keep_nodes(torch.rand(graphs.num_nodes) < 0.8).keep_edges(pairs)
    first: nn.Module = nn.Linear(units, units, bias=False) if maps == 2 else nn.Identity()
    exact = GINLayer(first, units)
    for bias in (exact.bias, exact.second.bias, exact.norm.bias):
        nn.init.normal_(bias)
    ours, exact = deepcopy(exact).to(DEVICE), exact.double()
    h = torch.randn(graphs.num_nodes, units, dtype=torch.float64, requires_grad=True)
    # Rows that are gone have no gradient, and it is a block of columns of that of a concatenation.
    grad = torch.randn(graphs.num_nodes, 2 * units, dtype=torch.float64)[:, units:]
    if graphs.node_keep is not None:
        grad = grad * graphs.node_keep[:, None]
    expected = exact(h, graphs)
    expected.backward(grad)
    given = h.detach().float().to(DEVICE).requires_grad_()
    monkeypatch.setattr(gin, "serve", lambda _: True)
    found = ours(given, graphs.to(DEVICE))
    assert type(found.grad_fn).__name__ == "_FusedLayerBackward"
    found.backward(grad.float().to(DEVICE))
    kept = slice(None) if graphs.node_keep is None else graphs.node_keep
    close(found[kept], expected[kept], 5e-4)
    assert given.grad is not None
    assert h.grad is not None
    close(given.grad[kept], h.grad[kept], 1e-3)
    for (name, one), two in zip(ours.named_parameters(), exact.parameters(), strict=True):
        assert one.grad is not None, name
        close(one.grad, two.grad, 5e-3)
    for kept_here, kept_there in zip(ours.buffers(), exact.buffers(), strict=True):
        close(kept_here, kept_there, 1e-4)
