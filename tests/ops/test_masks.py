"""What views remove by kernels, against their definitions for the same draws."""

import pytest
import torch

from nmrgcl.ops.triton.masks import blank_drawn_rows, edges_between, keep_drawn_edges, keep_drawn_nodes
from tests.examples import random_graphs
from tests.ops import DEVICE

GRAPHS = random_graphs([6, 1, 9, 0, 300, 7], density=0.3, categorical=True)


def drawn(size: int, share: float) -> torch.Tensor:
    return torch.rand(size) < share


def on_device(mask: torch.Tensor | None) -> torch.Tensor | None:
    return None if mask is None else mask.to(DEVICE)


@pytest.mark.parametrize("with_chosen", [False, True])
@pytest.mark.parametrize("with_keep", [False, True])
@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_dropping_nodes_leaves_each_graph_one(p: float, with_keep: bool, with_chosen: bool) -> None:
    torch.manual_seed(1)
    beyond = 5  # nodes of a padded batch that belong to no graph
    draw, there = torch.rand(GRAPHS.num_nodes + beyond), drawn(GRAPHS.num_nodes + beyond, 0.8)
    keep = there if with_keep else None
    chosen = drawn(len(GRAPHS), 0.5) if with_chosen else None
    expected = torch.ones_like(there) if keep is None else keep.clone()
    for graph in range(len(GRAPHS)):
        nodes = torch.arange(int(GRAPHS.node_ptr[graph]), int(GRAPHS.node_ptr[graph + 1]))
        nodes = nodes[expected[nodes]]
        if len(nodes) and (chosen is None or chosen[graph]):
            stay = draw[nodes] >= p
            if not stay.any():
                stay = draw[nodes] == draw[nodes].max()
            expected[nodes] = stay
    found = keep_drawn_nodes(draw.to(DEVICE), GRAPHS.node_ptr.to(DEVICE), on_device(keep), on_device(chosen), p)
    assert torch.equal(found.cpu(), expected)


@pytest.mark.parametrize("with_chosen", [False, True])
@pytest.mark.parametrize("with_keep", [False, True])
def test_both_directions_of_an_edge_share_a_draw(with_keep: bool, with_chosen: bool) -> None:
    torch.manual_seed(2)
    draw = torch.rand(GRAPHS.num_edges)
    keep = drawn(GRAPHS.num_edges, 0.8) if with_keep else None
    chosen = drawn(len(GRAPHS), 0.5) if with_chosen else None
    expected = draw[GRAPHS.pair] >= 0.4
    if chosen is not None:
        expected |= ~chosen[GRAPHS.batch[GRAPHS.edge_index[1]]]
    if keep is not None:
        expected &= keep
    graphs = GRAPHS.to(DEVICE)
    found = keep_drawn_edges(
        draw.to(DEVICE), graphs.pair, graphs.edge_index[1], graphs.batch, on_device(keep), on_device(chosen), 0.4
    )
    assert torch.equal(found.cpu(), expected)


@pytest.mark.parametrize("with_chosen", [False, True])
@pytest.mark.parametrize("blank", [-1.0, 0.0])
def test_blank_rows(blank: float, with_chosen: bool) -> None:
    torch.manual_seed(3)
    x = GRAPHS.x if blank < 0 else torch.randn(GRAPHS.num_nodes, 5)
    draw, chosen = torch.rand(GRAPHS.num_nodes), drawn(len(GRAPHS), 0.5) if with_chosen else None
    gone = draw < 0.3
    if chosen is not None:
        gone &= chosen[GRAPHS.batch]
    owner = GRAPHS.batch.to(DEVICE)
    found = blank_drawn_rows(x.to(DEVICE), draw.to(DEVICE), owner, on_device(chosen), 0.3, blank)
    assert found.dtype == x.dtype
    assert torch.equal(found.cpu(), torch.where(gone[:, None], torch.tensor(blank).to(x.dtype), x))


@pytest.mark.parametrize("with_keep", [False, True])
def test_an_edge_lives_as_long_as_its_ends(with_keep: bool) -> None:
    torch.manual_seed(4)
    nodes, keep = drawn(GRAPHS.num_nodes, 0.7), drawn(GRAPHS.num_edges, 0.7) if with_keep else None
    expected = nodes[GRAPHS.edge_index].all(0)
    if keep is not None:
        expected &= keep
    found = edges_between(GRAPHS.edge_index.to(DEVICE), nodes.to(DEVICE), on_device(keep))
    assert torch.equal(found.cpu(), expected)
