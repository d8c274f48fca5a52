"""Batches by the kernel against batches by PyTorch."""

from dataclasses import replace

import pytest
import torch

from nmrgcl.graphs import Graphs, Room
from nmrgcl.ops import batch
from tests.examples import random_graphs
from tests.ops import DEVICE

FIELDS = ("x", "y", "edge_index", "row_ptr", "node_ptr", "batch", "pair", "edge_attr", "edge_weight")


@pytest.fixture(autouse=True)
def by_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "serve", lambda _: True)


@pytest.mark.parametrize("masked", [False, True])
def test_a_gathered_batch_is_the_batch_and_nothing_more(masked: bool) -> None:
    torch.manual_seed(0)
    graphs = random_graphs([6, 1, 9, 4, 0, 7, 5, 300], density=0.4, categorical=True)
    graphs = replace(
        graphs, edge_attr=torch.arange(graphs.num_edges)[:, None], edge_weight=torch.rand(graphs.num_edges)
    )
    if masked:
        graphs = graphs.keep_nodes(torch.rand(graphs.num_nodes) < 0.7).keep_edges(torch.rand(graphs.num_edges) < 0.7)
    elsewhere = graphs.to(DEVICE)
    for index in (torch.tensor([2, 0, 4, 5]), torch.tensor([4]), torch.tensor([7, 3, 7])):
        plain = graphs.take(index)
        room = Room(plain.num_nodes + 300, plain.num_edges + 700)
        padded = elsewhere.take_padded(index.to(DEVICE), room).to("cpu")
        assert (padded.num_nodes, padded.num_edges) == (room.nodes, room.edges)
        assert torch.equal(padded.node_counts(), plain.node_counts())
        # What there is too much of is masked, in no row, and an edge of it is a pair of its own.
        assert padded.node_keep is not None
        assert not padded.node_keep[plain.num_nodes :].any()
        assert not padded.live_edges[plain.num_edges :].any()
        assert (padded.row_ptr[plain.num_nodes :] == plain.num_edges).all()
        assert torch.equal(padded.pair[plain.num_edges :], torch.arange(plain.num_edges, room.edges))
        assert (padded.edge_index < room.nodes).all()
        assert (padded.batch < len(index)).all()
        same_as(padded.compact(), plain.compact())


def test_a_padded_batch_can_be_gathered_again() -> None:
    graphs = random_graphs([6, 1, 9, 4], density=0.4)
    once = graphs.to(DEVICE).take_padded(torch.tensor([3, 0, 2], device=DEVICE), Room(64, 256))
    twice = once.take_padded(torch.tensor([0, 1, 2, 0, 1, 2], device=DEVICE), Room(128, 512)).to("cpu")
    same_as(twice.compact(), graphs.take(torch.tensor([3, 0, 2, 3, 0, 2])))


def same_as(one: Graphs, two: Graphs) -> None:
    for name in FIELDS:
        found, expected = getattr(one, name), getattr(two, name)
        assert (found is None) == (expected is None)
        assert found is None or torch.equal(found, expected), name
