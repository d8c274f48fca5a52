"""Deep graph kernels: a matrix worked by hand, the words against slow definitions, and what is refused."""

from collections import Counter
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs
from nmrgcl.methods.dgk import DGK, draw_pairs
from nmrgcl.words import paths
from nmrgcl.words.graphlets import graphlets, shape_codes
from nmrgcl.words.paths import shortest_paths
from nmrgcl.words.wl import combine, node_labels
from tests.examples import random_graphs, undirected
from tests.methods.members import build


def dgk(*assignments: str) -> DGK:
    return build(DGK, *assignments)


def three_graphs() -> Graphs:
    """An edge a–a, a path a–b–a, and a node b without edges."""
    edges = torch.cat([undirected((0, 1)), undirected((2, 3), (3, 4))], 1)
    return Graphs.build(edges, torch.tensor([0, 2, 5, 6]), x=torch.tensor([[0], [0], [0], [1], [0], [1]]))


def test_the_matrix_of_three_graphs_by_hand() -> None:
    """Words a and b with vectors (1, 0) and (1, 2), so M = [[1, 1], [1, 5]]; P = [[2, 0], [2, 1], [0, 1]].

    P M = [[2, 2], [3, 7], [1, 5]] and P M Pᵀ = [[4, 6, 2], [6, 13, 7], [2, 7, 5]].
    """
    method = dgk("iterations=0", "columns=2", "least_graphs=1")
    a, b = node_labels(three_graphs(), "dgk")[[0, 3]].tolist()
    vectors = {a: [1.0, 0.0], b: [1.0, 2.0]}
    method.vocabulary = torch.tensor(sorted(vectors))
    method.vectors = torch.tensor([vectors[word] for word in sorted(vectors)])
    k = np.array([[4, 6, 2], [6, 13, 7], [2, 7, 5]])
    length = np.sqrt(np.diag(k))
    np.testing.assert_allclose(method.kernels(three_graphs())[0], k / length[:, None] / length, rtol=1e-6)


@pytest.mark.parametrize("words", ["wl", "shortest_paths", "graphlets"])
def test_a_word_is_as_similar_to_itself_as_any_other_is(words: str) -> None:
    method = dgk(f"words={words}", "samples=50", "passes=2")
    method.fit(random_graphs([6, 9, 0, 8, 7], categorical=True))
    torch.testing.assert_close(method.vectors.norm(dim=1), torch.ones(len(method.vocabulary)))


def test_words_that_fit_has_not_seen_are_left_out() -> None:
    method = dgk("iterations=0", "columns=2")
    method.vocabulary = node_labels(three_graphs(), "dgk")[:1]
    method.vectors = torch.tensor([[0.0, 3.0]])
    assert method.embed(three_graphs()).tolist() == [[0, 1], [0, 1], [0, 0]]


@pytest.mark.parametrize("at_once", [40, 2**23])
def test_shortest_paths_are_those_of_networkx(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "PAIRS_AT_ONCE", at_once)
    graphs = random_graphs([7, 0, 1, 9, 5], categorical=True, density=0.25)
    words, batch, times = (part.tolist() for part in shortest_paths(graphs, method="dgk"))
    found = Counter(dict(zip(zip(words, batch, strict=True), times, strict=True)))
    labels, expected = node_labels(graphs, "dgk"), Counter[Any]()
    network = nx.Graph(graphs.edge_index.T.tolist())
    for one, lengths in nx.all_pairs_shortest_path_length(network):
        for other, distance in lengths.items():
            if one != other:
                ends = sorted([labels[one], labels[other]], key=int)
                word = combine(*(end.view(1) for end in ends), torch.tensor([distance]))
                expected[int(word), int(graphs.batch[one])] += 1
    assert found == expected


def test_graphlets_of_equal_shape_have_one_code() -> None:
    """There are 4 graphs of three nodes, 11 of four and 34 of five (OEIS A000088)."""
    assert [len(shape_codes(size).unique()) for size in (2, 3, 4, 5)] == [2, 4, 11, 34]


def test_graphlets_are_induced_by_nodes_drawn_evenly() -> None:
    """A path of four nodes: of its four triples two are paths of three, and two have a single edge."""
    graphs = Graphs.build(undirected((0, 1), (1, 2), (2, 3)), torch.tensor([0, 0, 4]))
    words, graph = graphlets(graphs, 3, 4000, seed=0)
    assert set(graph.tolist()) == {1}
    share = {code: number / 4000 for code, number in Counter(words.tolist()).items()}
    path, edge = shape_codes(3)[torch.tensor([0b11, 0b1])].tolist()
    assert share == {path: pytest.approx(0.5, abs=0.03), edge: pytest.approx(0.5, abs=0.03)}


def test_graphlets_of_a_whole_graph_are_its_shape() -> None:
    """A triangle with two nodes that it lacks; a complete graph of five."""
    five = list(combinations(range(3, 8), 2))
    graphs = Graphs.build(undirected((0, 1), (1, 2), (2, 0), *five), torch.tensor([0, 3, 8]))
    words, graph = graphlets(graphs, 5, 50, seed=3)
    pairs = list(combinations(range(5), 2))
    triangle = sum(1 << bit for bit, pair in enumerate(pairs) if max(pair) < 3)
    expected = shape_codes(5)[torch.tensor([triangle, 2**10 - 1])]
    assert torch.equal(words, expected[graph])


def test_pairs_are_drawn_within_a_graph_by_frequency() -> None:
    """The first graph has word 0 three times and word 1 once, the second word 2 alone, the third nothing."""
    torch.manual_seed(0)
    found = draw_pairs(csr_array([[3.0, 1, 0], [0, 0, 2], [0, 0, 0]]), 16000).toarray() / 16000
    expected = np.array([[9, 3, 0], [3, 1, 0], [0, 0, 16]]) / 16
    np.testing.assert_allclose(found, expected, atol=0.015)


@pytest.mark.parametrize("words", ["wl", "shortest_paths", "graphlets"])
def test_every_kind_of_word_fits_and_embeds_new_graphs(words: str) -> None:
    method = dgk(f"words={words}", "samples=50")
    method.fit(random_graphs([6, 9, 0, 8, 7], categorical=True))
    new = random_graphs([8, 1, 5], categorical=True, seed=7)
    whole = method.embed(new)
    alone = torch.cat([method.embed(new.take(torch.tensor([i]))) for i in range(3)])
    torch.testing.assert_close(whole, alone)
    assert bool(whole[0].any())


def test_too_many_words_and_none_are_refused() -> None:
    graphs = random_graphs([6, 9, 8, 7], categorical=True)
    with pytest.raises(DataError, match="different words, more than max_words = 3; raise least_graphs, or raise"):
        dgk("max_words=3").fit(graphs)
    with pytest.raises(DataError, match="no word occurs in 5 of these 4 graphs; lower least_graphs"):
        dgk("least_graphs=5").fit(graphs)
    with pytest.raises(DataError, match="method dgk needs node labels"):
        dgk("words=shortest_paths").fit(random_graphs([6, 9]))


def test_shortest_paths_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmrgcl.memory.available_bytes", lambda device: 100)
    with pytest.raises(DataError, match="method dgk: the shortest paths of a graph of 9 nodes need .* use other words"):
        dgk("words=shortest_paths").fit(random_graphs([6, 9], categorical=True))
