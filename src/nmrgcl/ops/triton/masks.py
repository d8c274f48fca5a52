"""What views remove, each in one launch; ``nmrgcl.ops.masks`` describes the functions."""

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 256
"""Nodes or edges at a time."""


def keep_drawn_nodes(
    draw: Tensor, node_ptr: Tensor, keep: Tensor | None, chosen: Tensor | None, p: float
) -> Tensor:  # fmt: skip
    """Which nodes stay; those beyond the last graph stay as they were."""
    out = torch.empty_like(draw, dtype=torch.bool)
    graphs = node_ptr.shape[0] - 1
    _keep_drawn_nodes[(graphs + 1,)](
        out, draw, node_ptr, keep, chosen, p, graphs, draw.shape[0],
        KEPT=keep is not None, CHOSEN=chosen is not None, BLOCK=BLOCK, num_warps=1,
    )  # fmt: skip
    return out


def keep_drawn_edges(
    draw: Tensor, pair: Tensor, owner: Tensor, batch: Tensor, keep: Tensor | None, chosen: Tensor | None, p: float
) -> Tensor:
    """Which edges stay."""
    out = torch.empty_like(draw, dtype=torch.bool)
    if out.numel():
        _keep_drawn_edges[(triton.cdiv(out.shape[0], BLOCK),)](
            out, draw, pair, owner, batch, keep, chosen, p, out.shape[0],
            KEPT=keep is not None, CHOSEN=chosen is not None, BLOCK=BLOCK,
        )  # fmt: skip
    return out


def blank_drawn_rows(x: Tensor, draw: Tensor, batch: Tensor, chosen: Tensor | None, p: float, blank: float) -> Tensor:
    """``x`` with ``blank`` in the rows that are removed."""
    out = torch.empty_like(x)
    if out.numel():
        columns = triton.next_power_of_2(x.shape[1])
        rows = max(1, 1024 // columns)
        _blank_drawn_rows[(triton.cdiv(x.shape[0], rows),)](
            out, x, draw, batch, chosen, p, x.shape[0], x.shape[1],
            BLANK=blank, CHOSEN=chosen is not None, ROWS=rows, COLUMNS=columns,
        )  # fmt: skip
    return out


def edges_between(edge_index: Tensor, node_keep: Tensor, edge_keep: Tensor | None) -> Tensor:
    """Which edges are kept themselves and have both ends kept."""
    out = torch.empty(edge_index.shape[1], dtype=torch.bool, device=edge_index.device)
    if out.numel():
        _edges_between[(triton.cdiv(out.shape[0], BLOCK),)](
            out, edge_index, node_keep, edge_keep, out.shape[0], edge_index.stride(0),
            KEPT=edge_keep is not None, BLOCK=BLOCK,
        )  # fmt: skip
    return out


@triton.jit(do_not_specialize=["graphs"])
def _keep_drawn_nodes(
    out: tl.tensor, draw: tl.tensor, node_ptr: tl.tensor, keep: tl.tensor, chosen: tl.tensor, p: tl.tensor,
    graphs: tl.tensor, nodes: tl.tensor, KEPT: tl.constexpr, CHOSEN: tl.constexpr, BLOCK: tl.constexpr,
) -> None:  # fmt: skip
    """One program: one graph; the last program: the nodes beyond all graphs."""
    graph = tl.program_id(0)
    first = tl.load(node_ptr + graph)
    last = tl.where(graph < graphs, tl.load(node_ptr + graph + 1, mask=graph < graphs, other=0), nodes)
    acts = graph < graphs
    if CHOSEN:
        acts = acts & (tl.load(chosen + graph, mask=graph < graphs, other=0) != 0)
    largest = tl.full((), -1.0, tl.float32)
    if acts:
        for start in range(first, last, BLOCK):
            node = start + tl.arange(0, BLOCK)
            there = node < last
            if KEPT:
                there = there & (tl.load(keep + node, mask=there, other=0) != 0)
            largest = tl.maximum(largest, tl.max(tl.load(draw + node, mask=there, other=-1.0)))
    # The largest draw of a graph is below p only if all are; that node then stays, so that no graph becomes empty.
    threshold = tl.where(acts, tl.minimum(largest, p), -1.0)
    for start in range(first, last, BLOCK):
        node = start + tl.arange(0, BLOCK)
        there = node < last
        stays = tl.load(draw + node, mask=there, other=0.0) >= threshold
        if KEPT:
            stays = stays & (tl.load(keep + node, mask=there, other=0) != 0)
        tl.store(out + node, stays, mask=there)


@triton.jit
def _keep_drawn_edges(
    out: tl.tensor, draw: tl.tensor, pair: tl.tensor, owner: tl.tensor, batch: tl.tensor, keep: tl.tensor,
    chosen: tl.tensor, p: tl.tensor, edges: tl.tensor,
    KEPT: tl.constexpr, CHOSEN: tl.constexpr, BLOCK: tl.constexpr,
) -> None:  # fmt: skip
    """One program: one block of edges."""
    edge = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = edge < edges
    stays = tl.load(draw + tl.load(pair + edge, mask=there, other=0), mask=there, other=0.0) >= p
    if CHOSEN:
        graph = tl.load(batch + tl.load(owner + edge, mask=there, other=0), mask=there, other=0)
        stays = stays | (tl.load(chosen + graph, mask=there, other=0) == 0)
    if KEPT:
        stays = stays & (tl.load(keep + edge, mask=there, other=0) != 0)
    tl.store(out + edge, stays, mask=there)


@triton.jit
def _blank_drawn_rows(
    out: tl.tensor, x: tl.tensor, draw: tl.tensor, batch: tl.tensor, chosen: tl.tensor, p: tl.tensor,
    rows: tl.tensor, width: tl.tensor,
    BLANK: tl.constexpr, CHOSEN: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
) -> None:  # fmt: skip
    """One program: some rows."""
    row, column = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    blank = tl.load(draw + row, mask=row < rows, other=1.0) < p
    if CHOSEN:
        graph = tl.load(batch + row, mask=row < rows, other=0)
        blank = blank & (tl.load(chosen + graph, mask=row < rows, other=0) != 0)
    place, there = row[:, None] * width + column[None, :], (row < rows)[:, None] & (column < width)[None, :]
    values = tl.load(x + place, mask=there, other=0)
    empty = tl.full([ROWS, COLUMNS], BLANK, tl.float32).to(values.dtype)
    tl.store(out + place, tl.where(blank[:, None], empty, values), mask=there)


@triton.jit
def _edges_between(
    out: tl.tensor, edge_index: tl.tensor, node_keep: tl.tensor, edge_keep: tl.tensor, edges: tl.tensor,
    stride: tl.tensor, KEPT: tl.constexpr, BLOCK: tl.constexpr,
) -> None:  # fmt: skip
    """One program: one block of edges."""
    edge = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = edge < edges
    source = tl.load(edge_index + edge, mask=there, other=0)
    destination = tl.load(edge_index + stride + edge, mask=there, other=0)
    live = tl.load(node_keep + source, mask=there, other=0) != 0
    live = live & (tl.load(node_keep + destination, mask=there, other=0) != 0)
    if KEPT:
        live = live & (tl.load(edge_keep + edge, mask=there, other=0) != 0)
    tl.store(out + edge, live, mask=there)
