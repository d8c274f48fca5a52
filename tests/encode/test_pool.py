"""Readouts of plain tensors equal PyG's, values and gradients."""

import pytest
import torch

from nmrgcl.encode import POOLS, pool
from nmrgcl.errors import DataError
from tests.examples import random_graphs

BATCH = torch.tensor([0, 0, 0, 1, 3, 3])


@pytest.mark.parametrize("size", [None, 4, 6])
@pytest.mark.parametrize("how", POOLS)
def test_a_readout_by_batch_equals_pygs(how: str, size: int | None) -> None:
    from torch_geometric import nn

    theirs = {"sum": nn.global_add_pool, "mean": nn.global_mean_pool, "max": nn.global_max_pool}[how]
    h = torch.randn(6, 5, dtype=torch.float64)
    found = []
    for way in (lambda h: pool(h, BATCH, how, size=size), lambda h: theirs(h, BATCH, size)):
        leaf = h.clone().requires_grad_()
        out = way(leaf)
        (out * torch.arange(out.numel()).reshape(out.shape).sin()).sum().backward()
        found.append((out.detach(), leaf.grad))
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("how", POOLS)
def test_a_readout_by_batch_is_that_of_the_graphs(how: str) -> None:
    graphs = random_graphs([4, 0, 1, 6])
    assert torch.equal(pool(graphs.x, graphs.batch, how), pool(graphs.x, graphs, how))
    assert torch.equal(pool(graphs.x, graphs.batch.int(), how), pool(graphs.x, graphs, how))
    assert pool(graphs.x[:0], graphs.batch[:0], how, size=2).tolist() == [[0] * 4] * 2


@pytest.mark.parametrize(
    ("batch", "size", "words"),
    [
        ([0, 1, 0], None, "stand together"),
        ([0, 1, 2], 2, "at most 1"),
        ([-1, 0, 0], None, "from 0"),
        ([0, 1], None, "3 rows"),
        ([0.0, 1.0, 1.0], None, "whole number"),
    ],
)
def test_a_batch_that_names_no_graphs_is_refused_in_one_line(batch: list[float], size: int | None, words: str) -> None:
    with pytest.raises(DataError, match=words):
        pool(torch.ones(3, 2), torch.tensor(batch), "sum", size=size)
