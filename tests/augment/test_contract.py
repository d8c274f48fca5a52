"""What every view promises, whatever it does."""

import pytest
import torch

from nmrgcl.augment import VIEWS, AddEdges, Compose, DropEdges, DropNodes, OneOf, Subgraph, View, build_view
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs
from tests.examples import (
    complete,
    edge_set,
    one_graph,
    random_graphs,
    sparse_x,
    with_edge_attributes,
    with_edge_labels,
)

MEMBERS: list[View] = [
    *(VIEWS[name]() for name in VIEWS),
    OneOf(*(VIEWS[name]() for name in VIEWS)),
    Compose(AddEdges(0.5), DropNodes(0.5), DropEdges(0.5), Subgraph()),
    Compose(DropNodes(0.5), AddEdges(0.5), AddEdges(0.5), DropEdges(0.5)),
]
BATCHES = {
    "mixed": random_graphs([5, 1, 9, 0, 3, 12], density=0.4),
    "categorical": random_graphs([5, 1, 9, 3], density=0.4, categorical=True),
    "sparse": sparse_x(random_graphs([5, 1, 9, 0], density=0.4)),
    "complete": complete(5),
    "edgeless": one_graph(4),
    "one node": one_graph(1),
}


@pytest.fixture(params=MEMBERS, ids=lambda v: type(v).__name__)
def view(request: pytest.FixtureRequest) -> View:
    member: View = request.param
    return member


@pytest.fixture(params=BATCHES.values(), ids=list(BATCHES))
def batch(request: pytest.FixtureRequest) -> Graphs:
    graphs: Graphs = request.param
    return graphs


def seen(view: View, graphs: Graphs, seed: int, chosen: torch.Tensor | None = None) -> Graphs:
    torch.manual_seed(seed)
    return view(graphs, chosen)


def test_no_graph_loses_its_last_node(view: View, batch: Graphs) -> None:
    for seed in range(20):
        assert bool(((seen(view, batch, seed).node_counts() > 0) == (batch.node_counts() > 0)).all())


def test_the_input_is_left_as_it_was(view: View, batch: Graphs) -> None:
    def parts() -> list[torch.Tensor]:
        return [t.clone() for t in (batch.dense_x(), batch.edge_index, batch.row_ptr)]

    before = parts()
    seen(view, batch, 0)
    assert all(torch.equal(a, b) for a, b in zip(before, parts(), strict=True))
    assert not batch.masked


def test_the_shape_does_not_depend_on_chance(view: View, batch: Graphs) -> None:
    def shape(g: Graphs) -> tuple[object, ...]:
        return g.x.shape, g.edge_index.shape, None if g.added is None else g.added.shape

    assert len({shape(seen(view, batch, seed)) for seed in range(10)}) == 1


def test_a_seed_repeats_the_view(view: View, batch: Graphs) -> None:
    a, b = seen(view, batch, 3).compact(), seen(view, batch, 3).compact()
    assert torch.equal(a.dense_x(), b.dense_x())
    assert torch.equal(a.edge_index, b.edge_index)


def test_undirected_graphs_stay_undirected_and_simple(view: View, batch: Graphs) -> None:
    for seed in range(10):
        after = seen(view, batch, seed).compact()
        edges = edge_set(after)
        assert len(edges) == after.num_edges
        assert all((d, s) in edges and s != d for s, d in edges)
        assert all(after.batch[s] == after.batch[d] for s, d in edges)


def test_graphs_that_are_not_chosen_pass_unchanged(view: View, batch: Graphs) -> None:
    after = seen(view, batch, 1, torch.zeros(batch.num_graphs, dtype=torch.bool)).compact()
    assert torch.equal(after.dense_x(), batch.dense_x())
    for field in ("edge_index", "row_ptr", "node_ptr", "batch", "pair"):
        assert torch.equal(getattr(after, field), getattr(batch, field)), field


def test_a_view_of_a_masked_graph_is_a_view_of_what_is_left(view: View) -> None:
    """Nothing that is removed comes back, and nothing new touches it."""
    batch = random_graphs([8, 8, 8], density=0.5)
    keep = torch.arange(batch.num_nodes) % 3 != 0
    for seed in range(10):
        after = seen(view, batch.keep_nodes(keep), seed)
        assert after.node_keep is not None
        assert not bool((after.node_keep & ~keep).any())
        assert bool((after.node_counts() > 0).all())


@pytest.mark.parametrize("labels", [True, False])
def test_an_edge_keeps_its_features_and_a_new_one_has_none(view: View, batch: Graphs, labels: bool) -> None:
    before = with_edge_labels(batch, (50, 3)) if labels else with_edge_attributes(batch, 2)
    assert before.edge_attr is not None
    ends = before.edge_index.T.tolist()
    known = {(u, v): row for (u, v), row in zip(ends, before.edge_attr.tolist(), strict=True)}
    for seed in range(10):
        after = seen(view, before, seed)
        node = torch.arange(batch.num_nodes) if after.node_keep is None else after.node_keep.nonzero().squeeze(1)
        after = after.compact()
        assert after.edge_attr is not None
        assert after.edge_attr.dtype == before.edge_attr.dtype
        for (u, v), row in zip(node[after.edge_index].T.tolist(), after.edge_attr.tolist(), strict=True):
            assert row == known.get((u, v), [0, 0])
            assert known.get((u, v)) == known.get((v, u))


def test_settings_name_views_in_any_case_and_by_the_papers_names() -> None:
    assert build_view([{"name": "dropnodes", "p": 0.3}]) == DropNodes(0.3)
    assert build_view([{"name": "NodeDrop"}]) == DropNodes()
    assert build_view([{"name": "NodeDrop"}, {"name": "EdgeDrop"}]) == OneOf(DropNodes(), DropEdges())


@pytest.mark.parametrize(
    ("choice", "word"),
    [
        ({"name": "DropNode"}, "DropNodes"),
        ({"name": "DropNodes", "q": 1}, "no option 'q'"),
        ({"name": "DropNodes", "p": 1.5}, "between 0 and 1"),
        ({"name": "DropNodes", "p": "x"}, "number"),
        ({"name": "Subgraph", "steps": 0}, "at least 1"),
    ],
)
def test_a_wrong_view_setting_says_what_would_be_right(choice: dict[str, object], word: str) -> None:
    with pytest.raises(SettingError, match=word):
        build_view([choice])
