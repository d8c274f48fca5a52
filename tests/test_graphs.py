import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nmrgcl.augment import VIEWS, AddEdges, DropEdges, DropNodes
from nmrgcl.encode import GIN, pool
from nmrgcl.errors import DataError
from nmrgcl.graphs import HUB, Graphs, Room
from tests.examples import edge_set, one_graph, random_graphs, undirected


def test_edges_are_sorted_by_destination_with_row_pointers() -> None:
    graphs = one_graph(3, (0, 1), (1, 2))
    assert graphs.edge_index.tolist() == [[1, 0, 2, 1], [0, 1, 1, 2]]
    assert graphs.row_ptr.tolist() == [0, 1, 3, 4]
    assert graphs.pair.tolist() == [0, 0, 2, 2]
    assert graphs.symmetric


def test_a_directed_edge_is_its_own_pair_and_makes_the_graph_asymmetric() -> None:
    graphs = Graphs.build(torch.tensor([[0, 1, 1], [1, 0, 2]]), torch.tensor([0, 3]))
    assert graphs.pair.tolist() == [0, 0, 2]
    assert not graphs.symmetric


def test_parallel_edges_pair_copy_by_copy_and_a_loop_with_itself() -> None:
    graphs = Graphs.build(torch.tensor([[0, 0, 1, 1, 1], [1, 1, 0, 0, 1]]), torch.tensor([0, 2]))
    # sorted: (1→0), (1→0), (0→1), (0→1), (1→1)
    assert graphs.pair.tolist() == [0, 1, 0, 1, 4]


def test_taking_graphs_equals_building_them_alone() -> None:
    sizes = [4, 1, 0, 7, 3]
    graphs = random_graphs(sizes)
    taken = graphs.take(torch.tensor([3, 1, 2, 3]))
    alone = [graphs.take(torch.tensor([i])) for i in (3, 1, 2, 3)]
    assert taken.node_ptr.tolist() == [0, 7, 8, 8, 15]
    assert torch.equal(taken.x, torch.cat([g.x for g in alone]))
    offsets = [0, 7, 8, 8]
    edges = torch.cat([g.edge_index + o for g, o in zip(alone, offsets, strict=True)], 1)
    assert torch.equal(taken.edge_index, edges)
    rebuilt = Graphs.build(edges, taken.node_ptr, x=taken.x)
    assert torch.equal(taken.row_ptr, rebuilt.row_ptr)
    assert torch.equal(taken.pair, rebuilt.pair)
    assert torch.equal(taken.batch, rebuilt.batch)
    assert taken.y is not None
    assert taken.y.tolist() == [1, 1, 0, 1]


def test_passes_are_all_graphs_in_the_order_asked_for_and_small_enough_for_caches() -> None:
    graphs = Graphs.build(torch.zeros(2, 0, dtype=torch.long), torch.arange(0, 41_000, 1000))
    parts = [*graphs.passes(torch.arange(40).flip(0))]
    assert [part.num_graphs for part in parts] == [8] * 5
    assert [part.num_nodes for part in parts] == [8000] * 5
    few = random_graphs([4, 1, 0, 7, 3])
    (whole,) = few.passes(torch.tensor([3, 0, 2]))
    assert torch.equal(whole.x, few.take(torch.tensor([3, 0, 2])).x)
    assert [part.num_graphs for part in random_graphs([0, 0]).passes(torch.arange(2))] == [2]


def test_embedding_in_passes_is_embedding_at_once() -> None:
    graphs = random_graphs([900 + 10 * n for n in range(20)], density=0.01)
    encoder = GIN(graphs.num_features, layers=2, units=8).eval()
    parts = [pool(encoder(part), part, "sum") for part in graphs.passes(torch.arange(20))]
    assert len(parts) == 3
    torch.testing.assert_close(torch.cat(parts), pool(encoder(graphs), graphs, "sum"))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 8), min_size=1, max_size=6), st.integers(0, 10**6))
def test_compacting_a_masked_graph_equals_building_what_is_left(sizes: list[int], seed: int) -> None:
    graphs = random_graphs(sizes, density=0.5, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    node_keep = torch.rand(graphs.num_nodes, generator=generator) < 0.6
    edge_keep = (torch.rand(graphs.num_edges, generator=generator) < 0.6)[graphs.pair]
    compact = graphs.keep_nodes(node_keep).keep_edges(edge_keep).compact()
    number = {int(v): i for i, v in enumerate(node_keep.nonzero())}
    expected = [
        (number[s], number[d])
        for e, (s, d) in enumerate(graphs.edge_index.T.tolist())
        if edge_keep[e] and node_keep[s] and node_keep[d]
    ]
    counts = [int(node_keep[a:b].sum()) for a, b in zip(graphs.node_ptr[:-1], graphs.node_ptr[1:], strict=True)]
    rebuilt = Graphs.build(
        torch.tensor(expected, dtype=torch.long).reshape(-1, 2).T,
        torch.tensor([0, *counts]).cumsum(0),
        x=graphs.x[node_keep],
    )
    for field in ("x", "edge_index", "row_ptr", "node_ptr", "batch", "pair"):
        assert torch.equal(getattr(compact, field), getattr(rebuilt, field)), field


def test_added_edges_are_sorted_in_and_padding_is_ignored() -> None:
    from dataclasses import replace

    graphs = one_graph(4, (0, 1))
    graphs = replace(
        graphs, added=torch.tensor([[2, 0, 3, 0], [3, 0, 2, 0]]), added_keep=torch.tensor([True, False, True, False])
    )
    assert edge_set(graphs) == {(0, 1), (1, 0), (2, 3), (3, 2)}
    merged = graphs.merge_added()
    assert merged.num_edges == 2 + 4  # the size does not depend on what is padding
    assert merged.row_ptr.tolist() == [0, 1, 2, 3, 4]


def test_merging_twice_gives_what_building_anew_gives() -> None:
    torch.manual_seed(0)
    graphs = random_graphs([6, 0, 1, 9, 12], density=0.3)
    once = AddEdges(0.5)(DropEdges(0.3)(graphs)).merge_added()
    twice = AddEdges(0.5)(DropNodes(0.2)(once)).merge_added()
    for merged in (once, twice):
        found = merged.compact()
        rebuilt = Graphs.build(found.edge_index.flip(1), found.node_ptr)
        assert found.num_edges == int(merged.live_edges.sum())
        for field in ("edge_index", "row_ptr", "pair"):
            assert torch.equal(getattr(found, field), getattr(rebuilt, field)), field


def test_compacting_nodes_alone_leaves_the_edges_that_are_there() -> None:
    """Nodes 0 and 3 go: the first one's row falls to node 1, that of node 3, in the second graph, to node 2."""
    graphs = Graphs.build(undirected((0, 1), (1, 2), (3, 4), (4, 5)), torch.tensor([0, 3, 6]))
    left = graphs.keep_nodes(torch.tensor([False, True, True, False, True, True])).compact_nodes()
    assert left.node_keep is None
    assert left.node_ptr.tolist() == [0, 2, 4]
    assert left.batch.tolist() == [0, 0, 1, 1]
    assert left.row_ptr.tolist() == [0, 3, 5, 7, 8]
    assert left.edge_index[:, left.live_edges].T.tolist() == [[1, 0], [0, 1], [3, 2], [2, 3]]
    assert torch.equal(left.live_edges, left.live_edges[left.pair])


def test_node_labels_follow_their_nodes() -> None:
    graphs = Graphs.build(undirected((0, 1)), torch.tensor([0, 2, 3]), y=torch.tensor([7, 8, 9]), y_level="node")
    taken = graphs.take(torch.tensor([1, 0]))
    assert taken.y is not None
    assert taken.y.tolist() == [9, 7, 8]
    kept = graphs.keep_nodes(torch.tensor([False, True, True])).compact()
    assert kept.y is not None
    assert kept.y.tolist() == [8, 9]


def test_categorical_features_are_the_ones_of_a_dense_row() -> None:
    graphs = Graphs.build(undirected(), torch.tensor([0, 2]), x=torch.tensor([[0, 2], [-1, 3]]), num_features=4)
    assert graphs.dense_x().tolist() == [[1, 0, 1, 0], [0, 0, 0, 1]]


@pytest.mark.parametrize(("leaves", "hubs"), [(HUB, False), (HUB + 1, True)])
def test_a_device_is_told_of_hubs_and_so_is_every_batch(leaves: int, hubs: bool) -> None:
    star = undirected(*((0, leaf) for leaf in range(1, leaves + 1)), (leaves + 1, leaves + 2))
    graphs = Graphs.build(star, torch.tensor([0, leaves + 1, leaves + 3])).to("cpu")
    assert graphs.hubs == hubs
    assert graphs.take(torch.tensor([1, 0])).hubs == hubs


def test_edges_must_stay_inside_one_graph() -> None:
    with pytest.raises(DataError, match="joins two graphs"):
        Graphs.build(torch.tensor([[0], [1]]), torch.tensor([0, 1, 2]))
    with pytest.raises(DataError, match="outside"):
        Graphs.build(torch.tensor([[0], [2]]), torch.tensor([0, 1, 2]))


@pytest.mark.parametrize("masked", [False, True])
def test_a_padded_batch_is_the_batch_and_nothing_more(masked: bool) -> None:
    graphs = random_graphs([6, 1, 9, 4, 0, 7, 5], density=0.4, categorical=True)
    if masked:
        torch.manual_seed(0)
        graphs = graphs.keep_nodes(torch.rand(graphs.num_nodes) < 0.7).keep_edges(torch.rand(graphs.num_edges) < 0.7)
    for index in (torch.tensor([2, 0, 4, 5]), torch.tensor([4]), torch.arange(7)):
        padded = graphs.take_padded(index, Room(64, 256))
        assert (padded.num_nodes, padded.num_edges) == (64, 256)
        assert padded.node_keep is not None
        assert torch.equal(padded.node_counts(), graphs.take(index).node_counts())
        one, two = padded.compact(), graphs.take(index).compact()
        for name in ("x", "edge_index", "row_ptr", "node_ptr", "batch", "pair"):
            assert torch.equal(getattr(one, name), getattr(two, name)), name


def test_views_and_encoders_do_not_see_the_padding() -> None:
    graphs = random_graphs([6, 1, 9, 4, 3, 7, 5], density=0.4, categorical=True)
    index = torch.tensor([2, 0, 4, 5])
    padded = graphs.take_padded(index, Room(64, 256))
    encoder = GIN(4, layers=2, units=8)
    expected = pool(encoder(graphs.take(index)), graphs.take(index), "sum")
    for layer in encoder.layers:
        layer.norm.running_mean.zero_()  # type: ignore[union-attr,operator]
    torch.testing.assert_close(pool(encoder(padded), padded, "sum"), expected, atol=1e-5, rtol=1e-5)
    for view in VIEWS.values():
        torch.manual_seed(0)
        seen = view()(padded).compact()
        assert torch.equal(seen.node_ptr.diff() > 0, graphs.take(index).node_ptr.diff() > 0)
        assert int(seen.node_ptr[-1]) == seen.num_nodes <= 25


def test_room_holds_random_batches_and_depends_on_the_graphs_alone() -> None:
    graphs = random_graphs([3, 40, 1, 12, 7, 0, 25] * 30, density=0.3)
    room = graphs.room_for(32)
    assert room == graphs.room_for(32)
    for seed in range(50):
        torch.manual_seed(seed)
        assert graphs.fits(torch.randperm(210)[:32], room)
    assert not graphs.fits(torch.ones(32 * 7, dtype=torch.long), room)
