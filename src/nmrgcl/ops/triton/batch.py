"""Batches of padded size, gathered from a dataset's tensors in two launches."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from nmrgcl.ops.batch import Structure

BLOCK = 256
"""Nodes or edges at a time."""


def gather_structure(
    index: Tensor,
    edge_index: Tensor,
    row_ptr: Tensor,
    node_ptr: Tensor,
    pair: Tensor,
    node_keep: Tensor | None,
    edge_keep: Tensor | None,
    *,
    nodes: int,
    edges: int,
) -> Structure:
    """``nmrgcl.ops.batch.gather_padded`` of a dataset that these tensors describe."""
    graphs, device = index.shape[0], index.device

    def whole(*shape: int) -> Tensor:
        return torch.empty(shape, dtype=torch.long, device=device)

    def flags(size: int) -> Tensor:
        return torch.empty(size, dtype=torch.bool, device=device)

    found = Structure(
        whole(nodes), whole(edges), whole(2, edges), whole(nodes + 1), whole(graphs + 1), whole(nodes), whole(edges),
        flags(nodes), flags(edges),
    )  # fmt: skip
    edge_ptr = whole(graphs + 1)
    _place_graphs[(1,)](
        found.node_ptr, edge_ptr, index, node_ptr, row_ptr, graphs, BLOCK=min(1024, triton.next_power_of_2(graphs))
    )
    # A large graph would keep one program busy long after those of all others have ended.
    programs = min(32, triton.next_power_of_2(triton.cdiv(max(nodes, edges), max(1, graphs) * BLOCK)))
    _copy_graphs[(graphs + 1, 2, programs)](
        *found, edge_ptr, index, edge_index, row_ptr, node_ptr, pair, node_keep, edge_keep, graphs, nodes, edges,
        edge_index.stride(0), NODES_KEPT=node_keep is not None, EDGES_KEPT=edge_keep is not None, BLOCK=BLOCK,
    )  # fmt: skip
    return found


@triton.jit
def _place_graphs(
    new_node_ptr: tl.tensor, new_edge_ptr: tl.tensor, index: tl.tensor, node_ptr: tl.tensor, row_ptr: tl.tensor,
    graphs: tl.tensor, BLOCK: tl.constexpr,
) -> None:  # fmt: skip
    """One program: running sums of the graphs' sizes."""
    nodes, edges = tl.full((), 0, tl.int64), tl.full((), 0, tl.int64)
    tl.store(new_node_ptr, nodes)
    tl.store(new_edge_ptr, edges)
    for start in range(0, graphs, BLOCK):
        place = start + tl.arange(0, BLOCK)
        exists = place < graphs
        graph = tl.load(index + place, mask=exists, other=0)
        first, last = tl.load(node_ptr + graph), tl.load(node_ptr + graph + 1)
        size = tl.where(exists, last - first, 0)
        links = tl.where(exists, tl.load(row_ptr + last) - tl.load(row_ptr + first), 0)
        tl.store(new_node_ptr + 1 + place, nodes + tl.cumsum(size, 0), mask=exists)
        tl.store(new_edge_ptr + 1 + place, edges + tl.cumsum(links, 0), mask=exists)
        nodes += tl.sum(size, 0)
        edges += tl.sum(links, 0)


@triton.jit(do_not_specialize=["graphs"])
def _copy_graphs(
    nodes: tl.tensor, edges: tl.tensor, new_edge_index: tl.tensor, new_row_ptr: tl.tensor, new_node_ptr: tl.tensor,
    batch: tl.tensor, new_pair: tl.tensor, new_node_keep: tl.tensor, new_edge_keep: tl.tensor,
    new_edge_ptr: tl.tensor, index: tl.tensor, edge_index: tl.tensor, row_ptr: tl.tensor, node_ptr: tl.tensor,
    pair: tl.tensor, node_keep: tl.tensor, edge_keep: tl.tensor, graphs: tl.tensor, node_room: tl.tensor,
    edge_room: tl.tensor, stride: tl.tensor,
    NODES_KEPT: tl.constexpr, EDGES_KEPT: tl.constexpr, BLOCK: tl.constexpr,
) -> None:  # fmt: skip
    """Some programs copy the nodes, or the edges, of one graph; the last ones fill the room that is left."""
    graph = tl.program_id(0)
    is_rest = graph == graphs
    source = tl.load(index + graph, mask=graph < graphs, other=0)
    old_node, old_edge = tl.load(node_ptr + source), tl.load(row_ptr + tl.load(node_ptr + source))
    new_node, new_edge = tl.load(new_node_ptr + graph), tl.load(new_edge_ptr + graph)
    own, step = tl.program_id(2) * BLOCK, tl.num_programs(2) * BLOCK
    if tl.program_id(1) == 0:
        last = tl.load(new_node_ptr + graph + 1, mask=graph < graphs, other=0)
        last = tl.where(is_rest, node_room, last)
        for start in range(new_node + own, last, step):
            node = start + tl.arange(0, BLOCK)
            exists = node < last
            # Padding names item 0, which exists, so features can be gathered without a mask.
            old = tl.where(is_rest, 0, node - new_node + old_node)
            tl.store(nodes + node, old, mask=exists)
            row = tl.load(row_ptr + old, mask=exists, other=0) - old_edge + new_edge
            tl.store(new_row_ptr + node, tl.where(is_rest, new_edge, row), mask=exists)
            tl.store(batch + node, tl.minimum(graph, graphs - 1) + tl.zeros([BLOCK], tl.int64), mask=exists)
            kept = node < tl.where(is_rest, new_node, last)
            if NODES_KEPT:
                kept = kept & (tl.load(node_keep + old, mask=exists, other=0) != 0)
            tl.store(new_node_keep + node, kept, mask=exists)
        if is_rest:
            tl.store(new_row_ptr + node_room, new_edge)
    else:
        last = tl.load(new_edge_ptr + graph + 1, mask=graph < graphs, other=0)
        last = tl.where(is_rest, edge_room, last)
        for start in range(new_edge + own, last, step):
            edge = start + tl.arange(0, BLOCK)
            exists = edge < last
            old = tl.where(is_rest, 0, edge - new_edge + old_edge)
            copied = edge < tl.where(is_rest, new_edge, last)
            tl.store(edges + edge, old, mask=exists)
            for end in tl.static_range(2):
                node = tl.load(edge_index + end * stride + old, mask=copied, other=0) - old_node + new_node
                node = tl.where(is_rest, node_room - 1, node)
                tl.store(new_edge_index + end * edge_room + edge, node, mask=exists)
            other = tl.load(pair + old, mask=copied, other=0) - old_edge + new_edge
            tl.store(new_pair + edge, tl.where(is_rest, edge, other), mask=exists)
            kept = copied
            if EDGES_KEPT:
                kept = kept & (tl.load(edge_keep + old, mask=copied, other=0) != 0)
            tl.store(new_edge_keep + edge, kept, mask=exists)
