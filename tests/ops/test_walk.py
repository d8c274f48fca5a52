"""The walk as one kernel gives what the loop over steps gives, node for node."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from nmrgcl.augment import AddEdges, DropEdges, DropNodes, Subgraph, subgraph
from nmrgcl.graphs import Graphs
from nmrgcl.ops import walk
from tests.examples import cycle, one_graph, random_graphs
from tests.ops import DEVICE

SIZES = [6, 1, 9, 0, 4, 0, 12, 3]


def plain() -> Graphs:
    return random_graphs(SIZES, density=0.4)


def weighted() -> Graphs:
    graphs = plain()
    return replace(graphs, edge_weight=torch.rand(graphs.num_edges)[graphs.pair])


def one_way() -> Graphs:
    graphs = plain()
    return Graphs.build(graphs.edge_index[:, ::2], graphs.node_ptr)


def without_all_nodes_of_a_graph() -> Graphs:
    return plain().keep_nodes(torch.arange(35) >= 7)


def with_nodes_dropped() -> Graphs:
    return DropNodes(0.4)(weighted())


KINDS: list[Callable[[], Graphs]] = [
    plain,
    weighted,
    one_way,
    without_all_nodes_of_a_graph,
    with_nodes_dropped,
    lambda: DropEdges(0.4)(plain()),
    lambda: AddEdges(0.5)(DropNodes(0.3)(plain())),
    lambda: one_graph(5),
    lambda: cycle(7),
    lambda: random_graphs([0, 0, 2], density=1.0),
]


@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_the_host_walks_as_the_loop_does(kind: int) -> None:
    graphs = KINDS[kind]().merge_added()
    for seed in range(20):
        torch.manual_seed(seed)
        walk_both_ways(graphs)


def walk_both_ways(graphs: Graphs) -> None:
    size = graphs.node_counts()
    start = subgraph.random_nodes(graphs, size, graphs.node_ptr[:-1])
    draws, restarts = torch.rand(25, len(size), dtype=torch.float64), torch.rand(25, len(size))
    rows = graphs.row_ptr, graphs.edge_index[0], subgraph.running_weight(graphs)
    found = walk.visited_nodes(start, size, *rows, draws, restarts, p=0.3, ratio=0.6)
    path = walk.walk_path(start, *rows, draws, restarts < 0.3)
    assert torch.equal(found, walk.seen_in_time(path, size, graphs.row_ptr, 0.6))


def both_ways(view: Subgraph, graphs: Graphs, monkeypatch: pytest.MonkeyPatch, seed: int) -> list[Tensor]:
    kept = []
    for by_kernel in (False, True):
        monkeypatch.setattr(walk, "serve", lambda _, by_kernel=by_kernel: by_kernel)
        torch.manual_seed(seed)
        keep = view(graphs).node_keep
        assert keep is not None
        kept.append(keep.cpu())
    return kept


@pytest.mark.parametrize("view", [Subgraph(), Subgraph(p=0.0, ratio=0.5, steps=7), Subgraph(p=0.9, ratio=1.0, steps=1)])
@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_the_kernel_walks_as_the_loop_does(kind: int, view: Subgraph, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(kind)
    graphs = KINDS[kind]().to(DEVICE)
    for seed in range(3):
        by_loop, by_kernel = both_ways(view, graphs, monkeypatch, seed)
        assert torch.equal(by_loop, by_kernel)
        assert int(by_kernel.sum()) > 0


@pytest.mark.parametrize("ratio", [0.0, 0.2, 0.3, 0.6, 0.7, 0.8, 1.0])
def test_a_long_walk_on_a_cycle_ends_at_its_share_of_the_nodes(ratio: float, monkeypatch: pytest.MonkeyPatch) -> None:
    view, graphs = Subgraph(p=0.0, ratio=ratio, steps=300), cycle(10).to(DEVICE)
    by_loop, by_kernel = both_ways(view, graphs, monkeypatch, 0)
    assert torch.equal(by_loop, by_kernel)
    assert int(by_kernel.sum()) == max(1, round(10 * ratio))


def test_a_graph_without_nodes_has_been_nowhere() -> None:
    """Its walk passes through the next graph, against the walk of that graph's own; all three nodes are new to it."""
    graphs = random_graphs([0, 3], density=1.0)
    path = torch.tensor([[0, 2], [1, 1], [2, 0]])
    assert walk.seen_in_time(path, graphs.node_counts(), graphs.row_ptr, 1.0).tolist() == [True, True, True]


@pytest.mark.skipif(DEVICE == "cpu", reason="no CUDA device on this machine")
def test_every_replay_of_a_captured_walk_is_a_new_one() -> None:
    graphs, view = random_graphs([30] * 64, density=0.1).to(DEVICE), Subgraph(ratio=0.5)
    view(graphs)  # compiled before the capture
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        keep = view(graphs).node_keep
    assert keep is not None
    seen = []
    for _ in range(2):
        graph.replay()
        seen.append(keep.clone())
        assert int(keep.reshape(64, 30).sum(1).min()) >= 1
    assert not torch.equal(*seen)
