"""Subgraphs match their definition, and training sees every node once per epoch."""

import pytest
import torch

from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs
from nmrgcl.settings import TrainSettings
from nmrgcl.train.feed import open_feed
from nmrgcl.train.feed.sampling import induced, neighbour_nodes, walk_nodes
from tests.examples import cycle, one_graph, random_graphs, sparse_x


def test_the_induced_graph_is_the_view_that_keeps_its_nodes() -> None:
    base = random_graphs([12], density=0.4)
    weight = (torch.rand(base.num_edges) + 0.5)[base.pair]
    whole = Graphs.build(
        base.edge_index, base.node_ptr, x=base.x, y=torch.arange(12), y_level="node", edge_weight=weight
    )
    nodes = torch.tensor([1, 2, 5, 6, 10, 11])
    keep = torch.zeros(12, dtype=torch.bool).index_fill_(0, nodes, True)
    for graphs in (whole, sparse_x(whole)):
        found, expected = induced(graphs, nodes), graphs.keep_nodes(keep).compact()
        assert torch.equal(found.dense_x(), expected.dense_x())
        for field in ("edge_index", "row_ptr", "node_ptr", "batch", "pair", "y", "edge_weight"):
            assert torch.equal(getattr(found, field), getattr(expected, field)), field


def test_a_node_alone_is_a_graph() -> None:
    found = induced(one_graph(3, (0, 1)), torch.tensor([2]))
    assert (found.num_nodes, found.num_edges, found.row_ptr.tolist()) == (1, 0, [0, 0])


def test_walks_and_neighbourhoods_stay_within_reach() -> None:
    torch.manual_seed(0)
    ring = cycle(20)
    for _ in range(20):
        assert set(walk_nodes(ring, torch.tensor([0]), 3).tolist()) <= {17, 18, 19, 0, 1, 2, 3}
        assert set(neighbour_nodes(ring, torch.tensor([0, 10]), 2, 3).tolist()) <= {18, 19, 0, 1, 2, 8, 9, 10, 11, 12}
    assert neighbour_nodes(ring, torch.tensor([0]), 2, 50).tolist() == [0, 1, 2, 18, 19]
    lonely = one_graph(3, (0, 1))
    assert walk_nodes(lonely, torch.tensor([2]), 4).tolist() == [2]
    assert neighbour_nodes(one_graph(2), torch.tensor([1]), 1, 2).tolist() == [1]


def test_neighbours_are_drawn_evenly() -> None:
    torch.manual_seed(0)
    star = one_graph(5, (0, 1), (0, 2), (0, 3), (0, 4))
    from nmrgcl.train.feed.sampling import _random_neighbour

    drawn = _random_neighbour(star, torch.zeros(4000, dtype=torch.long))
    assert torch.bincount(drawn, minlength=5).tolist() == [0, *[pytest.approx(1000, abs=120)] * 4]


@pytest.mark.parametrize("sampling", ["walk", "neighbours"])
def test_an_epoch_starts_from_each_node_once(sampling: str) -> None:
    graphs = random_graphs([30], density=0.1)
    options = TrainSettings(batch_size=8, sampling=sampling)  # type: ignore[arg-type]
    feed = open_feed(graphs, graphs.device, options, "node")
    feed.begin(feed.cut(), 0)
    assert sorted(torch.cat(feed.parts).tolist()) == list(range(30))
    part = feed.take(*feed.batch(0))
    assert part.num_graphs == 1
    assert 8 <= part.num_nodes <= 30


def test_a_whole_graph_is_one_batch() -> None:
    graphs = random_graphs([30])
    feed = open_feed(graphs, graphs.device, TrainSettings(), "node")
    feed.begin(feed.cut(), 0)
    assert len(feed.parts) == 1
    assert feed.take(*feed.batch(0)) is feed.lasting()
    with pytest.raises(DataError, match="at least two nodes"):
        open_feed(one_graph(1), graphs.device, TrainSettings(), "node")
