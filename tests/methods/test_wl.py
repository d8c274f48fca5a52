"""The Weisfeiler–Lehman kernel: known graphs, GraKeL as oracle, and what it refuses."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch

from nmrgcl import load
from nmrgcl.data.features import with_features
from nmrgcl.errors import DataError, SettingError
from nmrgcl.evaluate.svm import svm_scores
from nmrgcl.graphs import Graphs
from nmrgcl.methods.wl import WL
from nmrgcl.words import wl as wl_module
from nmrgcl.words.products import add_products
from nmrgcl.words.wl import combine, numbered_labels, wl_labels
from tests.examples import random_graphs, undirected
from tests.methods.members import build
from tests.methods.planted import planted_graphs

HEXAGON = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)]
TRIANGLES = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]
PATH = HEXAGON[:5]


def graphs_of(*edges: list[tuple[int, int]], nodes: int = 6, x: list[int] | None = None) -> Graphs:
    """Graphs with as many nodes each; labels ``x`` of one, which all share, or none."""
    index = torch.cat([undirected(*some) + nodes * number for number, some in enumerate(edges)], 1)
    ptr = torch.arange(len(edges) + 1) * nodes
    labels = None if x is None else torch.tensor(x).repeat(len(edges)).unsqueeze(1)
    return Graphs.build(index, ptr, x=labels)


def wl(*assignments: str) -> WL:
    return build(WL, *assignments)


def kernels(graphs: Graphs, iterations: int = 5) -> np.ndarray:
    return wl(f"iterations={iterations}").kernels(graphs).numpy()


def test_a_hexagon_and_two_triangles_look_alike_and_a_path_does_not() -> None:
    """All nodes of the first two have two neighbours whatever the round; the ends of a path have one."""
    found = kernels(graphs_of(HEXAGON, TRIANGLES, PATH), iterations=2)
    np.testing.assert_allclose(found[:, 0, 1], 1)
    # Path by round: 6 nodes alike; then 2 ends and 4 others; then 2 ends, 2 next to them and 2 in the middle.
    similar = [36 / 36, (36 + 24) / np.sqrt(72 * (36 + 20)), (36 + 24 + 12) / np.sqrt(108 * (36 + 20 + 12))]
    np.testing.assert_allclose(found[:, 0, 2], similar, rtol=1e-6)


def test_labels_are_refined_by_the_multiset_of_neighbours() -> None:
    """Node 1 sees labels 0 and 2, node 4 sees 2 and 0, node 7 sees 0 twice."""
    graphs = graphs_of([(0, 1), (1, 2)], [(2, 1), (1, 0)], nodes=3, x=[0, 1, 2])
    other = graphs_of([(0, 1), (1, 2)], nodes=3, x=[0, 1, 0])
    _, one = wl_labels(graphs, 1, method="wl")
    _, two = wl_labels(other, 1, method="wl")
    assert one[1] == one[4]
    assert one[1] != two[1]
    assert one[0] == two[0]  # the same label means the same in any batch


@pytest.mark.parametrize("iterations", [0, 1, 3])
def test_matrices_are_grakels(iterations: int) -> None:
    grakel = pytest.importorskip("grakel")
    graphs = with_features(load("MUTAG"))
    source, destination = graphs.edge_index.numpy()
    given = []
    for start, end in zip(graphs.node_ptr[:-1].tolist(), graphs.node_ptr[1:].tolist(), strict=True):
        inside = (source >= start) & (source < end)
        edges = list(zip(source[inside].tolist(), destination[inside].tolist(), strict=True))
        given.append([edges, {node: int(graphs.x[node]) for node in range(start, end)}])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if iterations == 0:
            oracle = grakel.VertexHistogram(normalize=True)
        else:
            oracle = grakel.WeisfeilerLehman(n_iter=iterations, normalize=True)
        expected = oracle.fit_transform(given)
    found = kernels(graphs, iterations)
    np.testing.assert_allclose(found[-1], expected, atol=1e-6)
    assert len(found) == iterations + 1


@pytest.mark.parametrize("real", [torch.float32, torch.float64])
def test_products_are_those_of_counts(real: torch.dtype) -> None:
    """Word 0 is everywhere, words 1 to 39 in some graphs, and each graph has a word of its own twice."""
    random = np.random.default_rng(0)
    batch = np.arange(60).repeat(9)
    word = random.integers(1, 40, (60, 9))
    word[:, 0], word[:, 1:3] = 0, 40 + np.arange(60)[:, None]
    counts = np.zeros((60, 100))
    np.add.at(counts, (batch, word.ravel()), 1)
    total = torch.ones(60, 60, dtype=real)
    add_products(total, word.ravel(), batch)
    np.testing.assert_array_equal(total.numpy(), 1 + counts @ counts.T)


def test_labels_are_numbered_in_their_order() -> None:
    for labels, number in numbered_labels(random_graphs([9, 0, 5], categorical=True), 2, method="wl"):
        np.testing.assert_array_equal(number.numpy(), np.unique(labels.numpy(), return_inverse=True)[1])


def test_large_graphs_are_counted_exactly() -> None:
    """Two graphs of 5,000 and 4,999 equal nodes without edges: 5000 · 4999 is more than float32 can count to."""
    graphs = Graphs.build(torch.empty(2, 0, dtype=torch.long), torch.tensor([0, 5000, 9999]))
    (total,) = wl("iterations=0").products(graphs)
    assert total.tolist() == [[5000**2, 5000 * 4999], [5000 * 4999, 4999**2]]


def test_the_order_of_nodes_changes_nothing() -> None:
    graphs = random_graphs([9], categorical=True, density=0.4)
    order = torch.randperm(9, generator=torch.Generator().manual_seed(1))
    place = order.argsort()
    other = Graphs.build(place[graphs.edge_index], graphs.node_ptr, x=graphs.x[order], num_features=4)
    torch.testing.assert_close(wl().embed(other), wl().embed(graphs))


def test_inner_products_of_embeddings_approximate_the_kernel() -> None:
    graphs = random_graphs([12] * 20, categorical=True)
    exact = kernels(graphs, 3)[-1]
    errors = []
    for columns in (64, 16384):
        z = wl("iterations=3", f"columns={columns}").embed(graphs)
        errors.append(float(np.abs((z @ z.T).numpy() - exact).max()))
    assert errors[1] < 0.05 < errors[0]


def test_embeddings_separate_planted_classes() -> None:
    """As they are: brought to one scale, the columns of rare labels would count as much as those of frequent ones."""
    graphs, y = planted_graphs()
    z = wl().embed(graphs).numpy()
    assert svm_scores(z, y, seed=0, c="default", jobs=1, standardise=False).mean() > 75


def test_a_graph_without_nodes_is_similar_to_none() -> None:
    graphs = random_graphs([4, 0, 3], categorical=True)
    found = kernels(graphs)
    assert np.all(found[:, 1] == 0)
    assert torch.all(wl().embed(graphs)[1] == 0)


def test_what_a_view_removes_is_not_counted() -> None:
    graphs = random_graphs([6, 7], categorical=True, density=0.5)
    view = graphs.keep_nodes(torch.arange(13) % 3 != 0)
    torch.testing.assert_close(wl().embed(view), wl().embed(view.compact()))


def test_equal_hashes_of_different_labels_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = random_graphs([6, 7], categorical=True, density=0.5)
    monkeypatch.setattr(wl_module, "combine", lambda *parts: parts[0] * 0 if len(parts) == 3 else combine(*parts))
    with pytest.raises(DataError, match="two different labels of these graphs have the same 64-bit hash"):
        list(wl_labels(replace(graphs), 2, method="wl"))


def test_numbers_are_no_labels_and_nodes_have_no_kernel() -> None:
    with pytest.raises(
        DataError, match=r"method wl needs node labels, but these nodes have numeric features \(4\); set data.features"
    ):
        wl().fit(random_graphs([4, 5]))
    with pytest.raises(SettingError, match="method wl embeds graphs, not nodes"):
        wl("level=node")


def test_matrices_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six matrices of 100 x 100 float32 numbers and one of float64 take 320,000 bytes."""
    graphs = random_graphs([2] * 100, categorical=True)
    monkeypatch.setattr("nmrgcl.memory.available_bytes", lambda device: 320_000)
    wl().kernels(graphs)
    monkeypatch.setattr("nmrgcl.memory.available_bytes", lambda device: 319_999)
    with pytest.raises(
        DataError, match="method wl: 6 kernels of 100 graphs need .* GB of memory, but .* are left; use"
    ):
        wl().kernels(graphs)
