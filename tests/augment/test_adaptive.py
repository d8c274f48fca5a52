"""Centralities against NetworkX, rates by hand, and views that follow them."""

from collections.abc import Callable

import networkx as nx
import pytest
import torch

from nmrgcl.augment import Compose, DropCentralEdgesLess, DropEdges, MaskCentralFeaturesLess, MaskFeatures, build_view
from nmrgcl.augment.adaptive import drop_rates
from nmrgcl.augment.centrality import CENTRALITIES, centrality
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs
from tests.examples import one_graph, sparse_x
from tests.examples import undirected as both_ways

ORACLES: dict[str, Callable[[nx.Graph], dict[int, float]]] = {
    "degree": lambda g: dict(g.degree),
    "eigenvector": nx.eigenvector_centrality_numpy,
    "pagerank": lambda g: nx.pagerank(g, tol=1e-12, max_iter=1000),
}


@pytest.mark.parametrize("name", list(CENTRALITIES))
def test_each_graph_of_a_batch_has_networkxs_centrality(name: str) -> None:
    lollipop, star = nx.lollipop_graph(4, 3), nx.star_graph(5)
    if name == "pagerank":
        star.add_node(6)  # alone: what it holds is spread evenly
    edges = torch.cat([both_ways(*lollipop.edges), both_ways(*star.edges) + 7], 1)
    graphs = Graphs.build(edges, torch.tensor([0, 7, 7 + len(star)]))
    expected = [ORACLES[name](g)[v] for g in (lollipop, star) for v in sorted(g)]
    assert centrality(graphs, name).abs().tolist() == pytest.approx(expected, abs=1e-5)


def test_rates_by_hand() -> None:
    # Logarithms to base e of 1, e, e³: mean 4/3, so p·(3 − s)/(5/3).
    score = torch.tensor([1.0, torch.e, torch.e**3, 5.0, 5.0, 0.0])
    rates = drop_rates(score, torch.tensor([0, 0, 0, 1, 1, 1]), 2, p=0.3, cap=0.5)
    assert rates.tolist() == pytest.approx([0.5, 0.36, 0.0, 0.3, 0.3, 0.5], abs=1e-6)


def test_the_edge_between_hubs_goes_less_often() -> None:
    torch.manual_seed(0)
    # Two hubs joined, three leaves each: the middle edge has the largest score and is never dropped.
    tree = one_graph(8, (0, 1), (0, 2), (0, 3), (0, 4), (1, 5), (1, 6), (1, 7))
    many = tree.take(torch.zeros(2000, dtype=torch.long))
    seen = DropCentralEdgesLess(0.3)(many)
    kept = seen.live_edges.view(2000, -1).float().mean(0)
    middle = (tree.edge_index == torch.tensor([[0], [1]])).all(0) | (tree.edge_index == torch.tensor([[1], [0]])).all(0)
    assert kept[middle].tolist() == [1.0, 1.0]
    rate = 0.3 * 7 / 6  # the six others share the average that the middle one does not use
    assert kept[~middle].tolist() == pytest.approx([1 - rate] * 12, abs=0.05)


@pytest.mark.parametrize("form", [lambda g: g, sparse_x])
def test_a_column_that_central_nodes_have_goes_less_often(form: Callable[[Graphs], Graphs]) -> None:
    torch.manual_seed(0)
    star = one_graph(4, (0, 1), (0, 2), (0, 3))
    x = torch.tensor([[1.0, 0], [0, 1], [0, 0], [0, 0]])  # the centre has column 0, a leaf column 1
    graphs = Graphs.build(star.edge_index, star.node_ptr, x=x)
    many = form(graphs.take(torch.zeros(2000, dtype=torch.long)))
    seen = MaskCentralFeaturesLess(0.2)(many).dense_x().view(2000, 4, 2)
    assert float(seen[:, 0, 0].mean()) == 1.0
    assert float(seen[:, 1, 1].mean()) == pytest.approx(0.6, abs=0.05)


def test_settings_name_composed_and_adaptive_views() -> None:
    parts = [{"name": "DropEdges", "p": 0.3}, {"name": "MaskFeatures", "p": 0.1}]
    assert build_view([{"name": "Compose", "views": parts}]) == Compose(DropEdges(0.3), MaskFeatures(0.1))
    view = build_view([{"name": "DropCentralEdgesLess", "p": 0.3, "centrality": "pagerank"}])
    assert view == DropCentralEdgesLess(0.3, "pagerank")
    with pytest.raises(SettingError, match="did you mean pagerank"):
        build_view([{"name": "DropCentralEdgesLess", "centrality": "pagerang"}])
    with pytest.raises(SettingError, match="must be a word"):
        build_view([{"name": "DropCentralEdgesLess", "centrality": 3}])
    for wrong in ({"name": "Compose"}, {"name": "Compose", "views": ["DropEdges"]}, {"name": "Compose", "p": 1}):
        with pytest.raises(SettingError, match="takes views alone"):
            build_view([wrong])
