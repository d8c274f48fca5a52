"""Whole encoders: every operation by the form for a GPU, against every operation by the plain form."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch

from nmrgcl.encode import GIN, Head, MoleculeGIN, embed_graphs
from nmrgcl.graphs import Graphs
from nmrgcl.ops import batch_norm, gin, linear, look_up, rows
from tests.examples import random_graphs, with_edge_labels
from tests.ops import DEVICE


@pytest.fixture(params=[False, True], ids=["masked", "two views"])
def graphs(request: pytest.FixtureRequest) -> Graphs:
    base = with_edge_labels(random_graphs([6, 1, 9, 4, 8, 5], density=0.4, categorical=True), (3, 2))
    names = torch.stack([base.x[:, 0], base.x.roll(1)[:, 0] + 4], 1)
    seen = replace(base, x=names, num_features=8).keep_nodes(torch.arange(base.num_nodes) % 5 > 0)
    return replace(seen, views=2) if request.param else seen


def results(encoder: torch.nn.Module, head: Head, graphs: Graphs) -> Iterator[torch.Tensor]:
    """The embeddings, the gradient of every parameter, and the running statistics."""
    encoder.zero_grad()
    for name, buffer in encoder.named_buffers():
        if "running" in name:
            buffer.fill_(float("var" in name))
    z = head(embed_graphs(encoder, graphs, "mean"))  # type: ignore[arg-type]
    z.square().sum().backward()
    yield z.detach()
    yield from (parameter.grad.clone() for parameter in encoder.parameters() if parameter.grad is not None)
    yield from (buffer.clone() for buffer in encoder.buffers())


@pytest.mark.parametrize("kind", ["gin", "molecule"])
def test_an_encoder_by_kernels_is_the_encoder(monkeypatch: pytest.MonkeyPatch, graphs: Graphs, kind: str) -> None:
    torch.manual_seed(0)
    wide = MoleculeGIN(8, layers=2, units=132, edges=(3, 2))
    encoder = (GIN(8, layers=2, units=16) if kind == "gin" else wide).to(DEVICE).train()
    head = Head(encoder.units).to(DEVICE)
    found = []
    for by_kernel in (False, True):
        for module in (batch_norm, gin, linear, look_up, rows):
            monkeypatch.setattr(module, "serve", lambda _, by_kernel=by_kernel: by_kernel)
        found.append(list(results(encoder, head, graphs.to(DEVICE))))
    assert len(found[0]) > 10
    for plain, kernel in zip(*found, strict=True):
        torch.testing.assert_close(kernel, plain, atol=1e-3, rtol=1e-3)
