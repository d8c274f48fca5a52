"""GIN and its readout computed together, with batch norm folded into the maps, against layer by layer."""

import copy
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from nmrgcl.augment import AddEdges, Compose, DropEdges, DropNodes, Subgraph, View
from nmrgcl.encode import GIN, embed_graphs, pool
from nmrgcl.graphs import Graphs
from nmrgcl.ops import gin
from nmrgcl.ops.forms import switched_off
from tests.examples import random_graphs

SIZES = [6, 1, 9, 0, 4]


def trained_a_little(dtype: torch.dtype) -> GIN:
    """Biases, scales and shifts that are not all zero or one."""
    torch.manual_seed(0)
    encoder = GIN(4, layers=3, units=8).to(dtype)
    for parameter in encoder.parameters():
        parameter.data += 0.3 * torch.randn_like(parameter)
    return encoder


def example(kind: str) -> Graphs:
    graphs = random_graphs(SIZES, density=0.5, categorical=kind == "categorical")
    if kind in ("categorical", "dense"):
        return graphs
    edges = graphs.edge_index[:, ::2] if kind == "directed" else graphs.edge_index
    weight = torch.rand(edges.shape[1], dtype=torch.float64) if kind == "weighted" else None
    return Graphs.build(edges, graphs.node_ptr, x=graphs.x, edge_weight=weight)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 2e-4), (torch.float64, 1e-11)])
@pytest.mark.parametrize("kind", ["categorical", "dense", "directed", "weighted"])
@pytest.mark.parametrize("readout", ["sum", "mean"])
def test_folding_changes_neither_embeddings_nor_gradients_nor_statistics(
    dtype: torch.dtype, tolerance: float, kind: str, readout: str
) -> None:
    graphs = example(kind)
    if not graphs.categorical:
        graphs = replace(graphs, x=graphs.x.to(dtype))
    plain = trained_a_little(dtype)
    folded = copy.deepcopy(plain)
    expected, found = pool(plain(graphs), graphs, readout), folded.embed(graphs, readout)
    torch.testing.assert_close(found, expected, atol=tolerance, rtol=tolerance)
    weight = torch.randn_like(expected)
    (expected * weight).sum().backward()
    (found * weight).sum().backward()
    for (name, one), two in zip(plain.named_parameters(), folded.parameters(), strict=True):
        assert one.grad is not None
        torch.testing.assert_close(two.grad, one.grad, atol=10 * tolerance, rtol=10 * tolerance, msg=name)
    for (name, before), after in zip(plain.named_buffers(), folded.buffers(), strict=True):
        torch.testing.assert_close(after, before, atol=tolerance, rtol=tolerance, msg=name)


@pytest.mark.parametrize("seed", range(5))
def test_edges_left_in_the_list_of_a_view_do_not_count(seed: int) -> None:
    torch.manual_seed(seed)
    views: list[View] = [DropNodes(0.5), DropEdges(0.4), Compose(AddEdges(0.5), DropNodes(0.4)), Subgraph(ratio=0.3)]
    plain = trained_a_little(torch.float64)
    for view in views:
        seen = view(replace(example("dense"), x=example("dense").x.double()))
        folded = copy.deepcopy(plain)
        plain.zero_grad()
        expected = pool(plain(seen.compact()), seen.compact(), "sum")
        found = folded.embed(seen.compact_nodes(), "sum")
        torch.testing.assert_close(found, expected, atol=1e-11, rtol=1e-11)
        found.square().sum().backward()
        expected.square().sum().backward()
        for one, two in zip(plain.parameters(), folded.parameters(), strict=True):
            torch.testing.assert_close(two.grad, one.grad, atol=1e-8, rtol=1e-8)


def test_a_unit_that_is_the_same_for_every_node_stays_finite() -> None:
    """A graph without edges and without differences: every variance is zero."""
    graphs = Graphs.build(torch.zeros(2, 0, dtype=torch.long), torch.tensor([0, 3, 5]))
    encoder = GIN(1, layers=2, units=4).double()
    found = encoder.embed(graphs, "mean")
    torch.testing.assert_close(found, torch.zeros_like(found), atol=1e-12, rtol=0)
    found.sum().backward()
    assert all(bool(p.grad is not None and torch.isfinite(p.grad).all()) for p in encoder.parameters())


@pytest.fixture
def folded(monkeypatch: pytest.MonkeyPatch) -> list[Graphs]:
    """The graphs that were embedded by the folded form."""
    seen, form = [], gin._folded_sums

    def note(z: Tensor, graphs: Graphs, layers: Sequence[gin.GINWeights]) -> Tensor:
        seen.append(graphs)
        return form(z, graphs, layers)

    monkeypatch.setattr(gin, "_folded_sums", note)
    return seen


def test_only_what_can_be_folded_is(folded: list[Graphs]) -> None:
    graphs, encoder = example("dense"), trained_a_little(torch.float32)
    encoder.embed(graphs, "sum")
    assert folded == [graphs]
    others = [GIN(4, last=True), GIN(4, dropout=0.1), trained_a_little(torch.float32).eval()]
    for other in others:
        other.embed(graphs, "sum")
    encoder.embed(graphs, "max")
    encoder.embed(DropNodes(0.2)(graphs), "sum")
    encoder.embed(graphs.take(torch.tensor([1])), "sum")  # one node has no variance
    with switched_off(gin.FOLDED):
        encoder.embed(graphs, "sum")
    assert folded == [graphs]
    with torch.no_grad():
        expected = pool(encoder.eval()(graphs), graphs, "sum")
        torch.testing.assert_close(embed_graphs(encoder, graphs, "sum"), expected)
