"""Edges that the kernel adds: how many, where, sorted in rightly, and every set of them as likely as any other."""

from collections import Counter
from dataclasses import replace

import pytest
import torch

from nmrgcl.augment import DropEdges, DropNodes
from nmrgcl.graphs import Graphs, Room
from nmrgcl.ops import new_edges as operation
from nmrgcl.ops.triton import new_edges
from tests.examples import one_graph, random_graphs
from tests.ops import DEVICE


@pytest.fixture(params=["few", "many"])
def amount(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways, whatever the size of the graphs."""
    monkeypatch.setattr(new_edges, "MANY", 10**9 if request.param == "few" else 0)


def added_to(graphs: Graphs, p: float, chosen: torch.Tensor | None = None) -> Graphs:
    room = 2 * (int(p * graphs.num_edges // 2 + graphs.num_graphs / 2) + 1)
    chosen = None if chosen is None else chosen.to(DEVICE)
    there = graphs.to(DEVICE)
    return there.with_new_edges(operation._by_kernel(there, chosen, p, room)).to("cpu")


def undirected_edges(graphs: Graphs) -> Counter[tuple[int, int]]:
    """Of the nodes' own numbers, each with how often it is there."""
    ends = graphs.edge_index[:, graphs.live_edges]
    return Counter((a, b) for a, b in ends.T.tolist() if a <= b)


CASES = {
    "plain": lambda: random_graphs([6, 1, 9, 0, 12, 40], density=0.3),
    "nearly full": lambda: random_graphs([7, 5, 2], density=0.9),
    "masked": lambda: DropEdges(0.3)(DropNodes(0.3)(random_graphs([6, 1, 9, 0, 12, 40], density=0.3))),
    "padded": lambda: random_graphs([6, 1, 9, 4], density=0.4).take_padded(torch.tensor([2, 0, 3, 2]), Room(50, 200)),
    "long rows": lambda: random_graphs([90], density=0.5),
}


@pytest.mark.usefixtures("amount")
@pytest.mark.parametrize("p", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("case", CASES)
def test_new_edges_join_nodes_that_were_not_adjacent(case: str, p: float) -> None:
    torch.manual_seed(0)
    graphs = CASES[case]()
    chosen = torch.rand(len(graphs)) < 0.8
    seen = added_to(graphs, p, chosen)
    before, after = undirected_edges(graphs), undirected_edges(seen)
    new = after - before
    assert before - after == Counter()
    assert set(new.values()) <= {1}
    assert not set(new) & set(before)
    keep = torch.ones(graphs.num_nodes, dtype=torch.bool) if graphs.node_keep is None else graphs.node_keep
    assert all(a < b and keep[a] and keep[b] and graphs.batch[a] == graphs.batch[b] for a, b in new)
    for graph in range(len(graphs)):
        simple = sum(1 for a, b in before if graphs.batch[a] == graph and a != b)
        size = int(graphs.node_counts()[graph])
        wanted = int(torch.tensor(p * simple).round()) if chosen[graph] else 0
        found = sum(1 for a, _ in new if graphs.batch[a] == graph)
        assert found == min(wanted, size * (size - 1) // 2 - simple)


@pytest.mark.usefixtures("amount")
@pytest.mark.parametrize("case", CASES)
def test_everything_is_where_it_belongs(case: str) -> None:
    torch.manual_seed(1)
    graphs = CASES[case]()
    graphs = replace(graphs, edge_attr=torch.arange(1, graphs.num_edges + 1)[:, None])
    seen = added_to(graphs, 0.4)
    source, destination = seen.edge_index
    key = destination * seen.num_nodes + source
    assert (key[1:] >= key[:-1]).all()
    # Rows end where their edges do; what is in no row is gone.
    bounds = torch.arange(seen.num_nodes)
    in_rows = int(seen.row_ptr[-1])
    assert torch.equal(seen.row_ptr[:-1], torch.searchsorted(destination[:in_rows].contiguous(), bounds))
    assert not seen.live_edges[in_rows:].any()
    # A pair is an edge and its reverse, and both name the first of them.
    assert torch.equal(seen.pair[seen.pair], seen.pair)
    assert torch.equal(source[seen.pair] + destination[seen.pair], source + destination)
    both = Counter(seen.pair[:in_rows].tolist())
    assert all(count == 2 for count in both.values())
    # Own edges keep their features and masks; new ones have none.
    assert seen.edge_attr is not None
    own = seen.edge_attr.squeeze(1) > 0
    origin = seen.edge_attr.squeeze(1)[own] - 1
    assert torch.equal(seen.edge_index[:, own], graphs.edge_index[:, origin])
    assert torch.equal(seen.live_edges[own], graphs.live_edges[origin])


@pytest.mark.parametrize("case", CASES)
def test_few_and_many_new_edges_are_the_same(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(3)
    graphs, seen = CASES[case](), []
    chosen = torch.rand(len(graphs)) < 0.8
    for many in (10**9, 0):
        monkeypatch.setattr(new_edges, "MANY", many)
        torch.manual_seed(4)
        seen.append(added_to(graphs, 0.7, chosen))
    for name in ("edge_index", "row_ptr", "pair", "edge_keep"):
        assert torch.equal(getattr(seen[0], name), getattr(seen[1], name)), name


@pytest.mark.parametrize(
    ("graph", "p", "kinds", "many"),
    [
        # A path of four nodes has three free pairs, of which two are drawn; then ten pairs, of which one is.
        (one_graph(4, (0, 1), (1, 2), (2, 3)), 0.6, 3, 90 if DEVICE == "cpu" else 20_000),
        (one_graph(6, (0, 1), (2, 3), (3, 4), (4, 5), (0, 2)), 0.2, 10, 60 if DEVICE == "cpu" else 20_000),
    ],
)
def test_every_set_of_free_pairs_is_as_likely_as_any_other(graph: Graphs, p: float, kinds: int, many: int) -> None:
    graphs, size = graph.take(torch.zeros(many, dtype=torch.long)), graph.num_nodes
    torch.manual_seed(2)
    seen = added_to(graphs, p)
    sets: dict[int, frozenset[tuple[int, int]]] = {}
    for a, b in undirected_edges(seen) - undirected_edges(graphs):
        sets[a // size] = sets.get(a // size, frozenset()) | {(a % size, b % size)}
    counts = torch.tensor(list(Counter(sets.values()).values()), dtype=torch.float64)
    assert len(counts) == kinds
    chi_squared = float(((counts - many / kinds) ** 2 / (many / kinds)).sum())
    assert chi_squared < kinds - 1 + 5 * (2 * (kinds - 1)) ** 0.5
