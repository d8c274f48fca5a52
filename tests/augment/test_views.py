"""Each view against its definition, by hand or by counting."""

from collections import Counter

import pytest
import torch

from nmrgcl.augment import (
    AddEdges,
    DropEdges,
    DropFeatures,
    DropNodes,
    Identity,
    MaskFeatures,
    OneOf,
    ShuffleNodes,
    Subgraph,
)
from nmrgcl.graphs import Graphs
from nmrgcl.ops.new_edges import NodePairs, draw_distinct
from tests.examples import complete, cycle, edge_set, one_graph, random_graphs, undirected

TRIALS = 4000


def many(graphs: Graphs, count: int = TRIALS) -> Graphs:
    """The same graph ``count`` times: one call of a view is that many trials."""
    return graphs.take(torch.zeros(count, dtype=torch.long))


def test_drop_nodes_takes_features_and_edges_along() -> None:
    path = one_graph(5, (0, 1), (1, 2), (2, 3), (3, 4))
    left = path.keep_nodes(torch.tensor([True, True, False, True, True])).compact()
    assert left.x[:, 0].tolist() == [1, 2, 4, 5]
    assert edge_set(left) == {(0, 1), (1, 0), (2, 3), (3, 2)}


@pytest.mark.parametrize("p", [0.0, 0.3, 0.9, 1.0])
def test_a_node_stays_with_the_probability_of_the_last_node_rule(p: float) -> None:
    torch.manual_seed(0)
    kept = DropNodes(p)(many(cycle(3))).node_keep
    assert kept is not None
    stays = kept.reshape(TRIALS, 3).double().mean(0)
    assert torch.allclose(stays, torch.full((3,), 1 - p + p**3 / 3, dtype=torch.float64), atol=0.025)


def test_lemma_1_two_views_share_the_expected_number_of_nodes() -> None:
    torch.manual_seed(0)
    n, p = 6, 0.4
    graphs = many(cycle(n))
    first, second = DropNodes(p)(graphs).node_keep, DropNodes(p)(graphs).node_keep
    assert first is not None
    assert second is not None
    shared = (first & second).reshape(TRIALS, n).sum(1).double().mean()
    assert abs(float(shared) - n * (1 - p + p**n / n) ** 2) < 0.06


def test_drop_edges_takes_both_directions_and_leaves_nodes() -> None:
    torch.manual_seed(0)
    graphs = many(cycle(5))
    after = DropEdges(0.3)(graphs)
    assert after.node_keep is None
    assert after.edge_keep is not None
    assert torch.equal(after.edge_keep, after.edge_keep[graphs.pair])
    assert abs(float(after.edge_keep.double().mean()) - 0.7) < 0.01
    assert DropEdges(1.0)(cycle(5)).compact().num_edges == 0
    assert edge_set(DropEdges(0.0)(cycle(5))) == edge_set(cycle(5))


def test_add_edges_adds_the_rounded_share_of_new_edges() -> None:
    torch.manual_seed(0)
    for p, expected in ((0.0, 0), (0.2, 1), (0.5, 2), (0.7, 4), (1.0, 5)):  # of 5; half to even
        after = AddEdges(p)(cycle(5)).compact()
        assert after.num_edges == 2 * (5 + expected)
        assert edge_set(cycle(5)) <= edge_set(after)


def test_add_edges_fills_what_is_free_and_no_more() -> None:
    torch.manual_seed(0)
    assert AddEdges(0.5)(complete(5)).compact().num_edges == 20
    nearly = one_graph(5, *[(i, j) for i in range(5) for j in range(i) if (i, j) != (4, 0)])
    assert edge_set(AddEdges(0.9)(nearly)) == edge_set(complete(5))
    assert AddEdges(1.0)(one_graph(4)).compact().num_edges == 0  # a share of no edges is none


def test_added_edges_are_drawn_evenly_from_the_free_pairs() -> None:
    torch.manual_seed(0)
    for n in (5, 6):
        graphs = many(one_graph(n, *[(i, i + 1) for i in range(n - 1)]))
        after = AddEdges(2 / (n - 1))(graphs)
        assert after.added is not None
        assert after.added_keep is not None
        new = after.added[:, after.added_keep] % n
        drawn = Counter((min(a, b), max(a, b)) for a, b in new.T.tolist())
        free = {(i, j) for i in range(n) for j in range(i + 2, n)}
        assert set(drawn) == free
        share = 2 * 2 * TRIALS / len(free)
        assert all(abs(count / share - 1) < 0.1 for count in drawn.values())


@pytest.mark.parametrize("directed", [False, True])
def test_the_kth_free_pair_is_the_kth_that_is_no_edge(directed: bool) -> None:
    """Against a list of all pairs, with masks, loops, parallel edges and graphs without nodes."""
    torch.manual_seed(0)
    sizes = [5, 0, 1, 7, 2, 9]
    base = random_graphs(sizes, density=0.4)
    edges = torch.cat([base.edge_index, base.edge_index[:, ::3], torch.tensor([[3, 8], [3, 8]])], 1)
    edges = edges[:, torch.rand(edges.shape[1]) < 0.5] if directed else torch.cat([edges, edges.flip(0)], 1)
    graphs = Graphs.build(edges, base.node_ptr)
    assert graphs.symmetric is not directed
    graphs = DropEdges(0.3)(graphs).keep_nodes(torch.rand(graphs.num_nodes) < 0.8)
    assert graphs.node_keep is not None
    live = {frozenset(edge) for edge in graphs.edge_index[:, graphs.live_edges].T.tolist()}
    pairs = NodePairs(graphs)
    for number, (begin, end) in enumerate(zip(graphs.node_ptr[:-1], graphs.node_ptr[1:], strict=True)):
        kept = [node for node in range(int(begin), int(end)) if graphs.node_keep[node]]
        free = [(i, j) for j in kept for i in kept if i < j and frozenset((i, j)) not in live]
        assert int(pairs.free_count[number]) == len(free)
        first, second = pairs.free_pair(torch.full((len(free),), number), torch.arange(len(free)))
        assert list(zip(first.tolist(), second.tolist(), strict=True)) == free


def test_pairs_of_a_large_graph_are_decoded_exactly() -> None:
    n = 3_000_001
    pairs = NodePairs(Graphs.build(torch.zeros(2, 0, dtype=torch.long), torch.tensor([0, n])))
    j = torch.cat([torch.arange(1, 2000), torch.arange(n - 2000, n)])
    for i in (torch.zeros_like(j), j - 1):
        first, second = pairs.free_pair(torch.zeros_like(j), j * (j - 1) // 2 + i)
        assert torch.equal(first, i)
        assert torch.equal(second, j)


def test_drawing_without_replacement_gives_every_subset_equally_often() -> None:
    torch.manual_seed(0)
    trials = 20000
    group, number, used = draw_distinct(torch.full((trials,), 3), torch.full((trials,), 5), 3 * trials + 7)
    assert int(used.sum()) == 3 * trials
    assert torch.equal(group[used], torch.arange(trials).repeat_interleave(3))
    subsets = Counter(tuple(sorted(row)) for row in number[used].reshape(trials, 3).tolist())
    assert len(subsets) == 10
    assert all(len(set(s)) == 3 and max(s) < 5 for s in subsets)
    assert all(abs(count / (trials / 10) - 1) < 0.1 for count in subsets.values())


def test_drawing_everything_draws_everything() -> None:
    group, number, used = draw_distinct(torch.tensor([4, 0, 2]), torch.tensor([4, 9, 2]), 8)
    assert sorted(number[used & (group == 0)].tolist()) == [0, 1, 2, 3]
    assert sorted(number[used & (group == 2)].tolist()) == [0, 1]


def test_mask_features_takes_whole_columns_of_a_graph() -> None:
    torch.manual_seed(0)
    graphs = random_graphs([4] * 500, features=3)
    x = MaskFeatures(0.3)(graphs).x.reshape(500, 4, 3)
    gone = (x == 0).all(1)
    assert torch.equal((x == 0).any(1), gone)
    assert abs(float(gone.double().mean()) - 0.3) < 0.05


def test_mask_features_means_the_same_for_categorical_features() -> None:
    codes = random_graphs([6] * 50, features=4, categorical=True)
    dense = Graphs.build(codes.edge_index, codes.node_ptr, x=codes.dense_x())
    for view in (MaskFeatures(0.5), DropFeatures(0.5)):
        torch.manual_seed(1)
        a = view(codes).dense_x()
        torch.manual_seed(1)
        assert torch.equal(a, view(dense).dense_x())


def test_drop_features_takes_whole_rows() -> None:
    torch.manual_seed(0)
    graphs = random_graphs([4] * 1000, features=3)
    x = DropFeatures(0.3)(graphs).x
    gone = (x == 0).all(1)
    assert torch.equal(x[~gone], graphs.x[~gone])
    assert abs(float(gone.double().mean()) - 0.3) < 0.03


def test_shuffle_nodes_permutes_rows_of_a_portion_within_each_graph() -> None:
    torch.manual_seed(0)
    graphs = random_graphs([10, 1, 5, 0, 7])
    for p, most in ((0.0, [0, 0, 0, 0, 0]), (0.4, [4, 0, 2, 0, 3]), (1.0, [10, 1, 5, 0, 7])):
        after = ShuffleNodes(p)(graphs)
        assert torch.equal(after.edge_index, graphs.edge_index)
        moved = (after.x != graphs.x).any(1)
        for g, (a, b) in enumerate(zip(graphs.node_ptr[:-1], graphs.node_ptr[1:], strict=True)):
            assert int(moved[a:b].sum()) <= most[g]
            assert sorted(after.x[a:b].tolist()) == sorted(graphs.x[a:b].tolist())


def test_shuffling_all_nodes_gives_every_permutation_equally_often() -> None:
    torch.manual_seed(0)
    x = ShuffleNodes(1.0)(many(one_graph(3), 6000)).x[:, 0].reshape(6000, 3)
    counts = Counter(tuple(row) for row in x.tolist())
    assert len(counts) == 6
    assert all(abs(c / 1000 - 1) < 0.15 for c in counts.values())


def test_subgraph_is_connected_and_holds_the_ratio() -> None:
    torch.manual_seed(0)
    after = Subgraph(p=0.0, ratio=0.6, steps=200)(many(cycle(5), 200))
    assert after.node_counts().unique().tolist() == [3]
    left = after.compact()
    assert left.num_edges == 200 * 4  # three neighbours on a cycle: a path with two edges


def test_subgraph_ends_after_its_steps() -> None:
    torch.manual_seed(0)
    path = one_graph(30, *[(i, i + 1) for i in range(29)])
    assert int(Subgraph(p=0.0, ratio=1.0, steps=3)(many(path, 200)).node_counts().max()) == 4
    assert Subgraph(p=1.0, ratio=1.0, steps=9)(many(path, 50)).node_counts().unique().tolist() == [1]


def test_a_walk_with_restart_visits_what_the_definition_visits() -> None:
    """Distribution of the number of visited nodes against a walk written as a plain loop."""
    torch.manual_seed(0)
    graphs = one_graph(6, (0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (1, 4))
    neighbours = [[s for s, d in graphs.edge_index.T.tolist() if d == v] for v in range(6)]
    sizes = Counter(Subgraph(p=0.3, ratio=0.8, steps=8)(many(graphs)).node_counts().tolist())
    slow: Counter[int] = Counter()
    for _ in range(TRIALS):
        start = here = int(torch.randint(6, ()))
        visited = {start}
        for _ in range(8):
            if len(visited) == 5:
                break
            if torch.rand(()) < 0.3:
                here = start
            else:
                here = neighbours[here][int(torch.randint(len(neighbours[here]), ()))]
            visited.add(here)
        slow[len(visited)] += 1
    assert set(sizes) == set(slow)
    assert all(abs(sizes[k] - slow[k]) < 0.03 * TRIALS for k in slow)


def test_a_walk_follows_edge_weights() -> None:
    torch.manual_seed(0)
    weight = torch.tensor([1.0, 3.0, 1.0, 3.0])
    star = Graphs.build(undirected((0, 1), (0, 2)), torch.tensor([0, 3]), edge_weight=weight)
    after = Subgraph(p=0.0, ratio=1.0, steps=1)(many(star, 9000))
    assert after.node_keep is not None
    kept = after.node_keep.reshape(-1, 3)
    from_centre = kept[~(kept[:, 0] & kept.sum(1).eq(1))]
    # Leaves always go to the centre; the centre goes to leaf 2 three times as often: (1 + 3/4) : (1 + 1/4).
    ratio = float(from_centre[:, 2].sum() / from_centre[:, 1].sum())
    assert abs(ratio - 1.75 / 1.25) < 0.1


def test_one_of_draws_for_each_graph() -> None:
    torch.manual_seed(0)
    after = OneOf(Identity(), DropEdges(1.0), DropFeatures(1.0))(many(cycle(4), 900))
    edges = after.live_edges.reshape(900, 8).any(1)
    features = (after.x != 0).reshape(900, 8).any(1)
    kinds = Counter(zip(edges.tolist(), features.tolist(), strict=True))
    assert set(kinds) == {(True, True), (False, True), (True, False)}
    assert all(abs(c - 300) < 60 for c in kinds.values())
