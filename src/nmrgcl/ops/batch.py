"""Taking a batch: which nodes and edges the chosen graphs have, renumbered as a dataset of their own.

Nodes and edges of a graph are contiguous, so a batch is a gather of ranges and never a scan of the dataset.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from nmrgcl.ops import on_host, serve
from nmrgcl.ops.flat_graphs import FlatGraphs
from nmrgcl.ops.forms import Form
from nmrgcl.sparse_rows import is_sparse, select_rows

PLAIN = Form("padded batch", "plain", "on a CPU")
KERNEL = Form("padded batch", "Triton kernel", "on a GPU")
FORMS = (PLAIN, KERNEL)

GRAPHS_PER_PASS = 512
NODES_IN_CACHE = 8192
"""On a CPU, tensors of more nodes are read from memory again in every layer (docs/lab)."""


class Structure(NamedTuple):
    """The structure of a batch, and where its rows come from. All names but the first two are those of ``Graphs``.

    Attributes:
        nodes: ``[N]`` the number that each node had in the dataset.
        edges: ``[E]`` the number that each edge had in the dataset.
    """

    nodes: Tensor
    edges: Tensor
    edge_index: Tensor
    row_ptr: Tensor
    node_ptr: Tensor
    batch: Tensor
    pair: Tensor
    node_keep: Tensor | None
    edge_keep: Tensor | None


def gather(graphs: FlatGraphs, index: Tensor, *, nodes: int, edges: int) -> Structure:
    """The graphs named by ``index``, in that order; they have ``nodes`` and ``edges`` in all.

    The caller knows both totals on the host, so that no device has to be asked for them.
    """
    return _assemble(graphs, *(_Ranges(*bounds, total) for bounds, total in _bounds(graphs, index, nodes, edges)))


def gather_padded(graphs: FlatGraphs, index: Tensor, *, nodes: int, edges: int) -> Structure:
    """``gather`` into tensors of exactly ``nodes`` and ``edges``, of which the batch may need fewer.

    Shapes then do not depend on the batch. The rest is masked, comes last, and lies in no row and no graph; its edges
    are loops of the last node, each of them its own pair.
    """
    if KERNEL.on and serve(index):
        from nmrgcl.ops.triton.batch import gather_structure

        return gather_structure(
            index, graphs.edge_index, graphs.row_ptr, graphs.node_ptr, graphs.pair, graphs.node_keep, graphs.edge_keep,
            nodes=nodes, edges=edges,
        )  # fmt: skip
    return _gather_padded(graphs, index, nodes, edges)


def _gather_padded(graphs: FlatGraphs, index: Tensor, nodes: int, edges: int) -> Structure:
    node, edge = (_PaddedRanges(*bounds, total) for bounds, total in _bounds(graphs, index, nodes, edges))
    found = _assemble(graphs, node, edge)
    # From the first unused node on, all rows are empty; row_ptr has one entry more than there are nodes.
    used = pad(node.used, (0, 1), value=False)
    return found._replace(
        edge_index=torch.where(edge.used, found.edge_index, nodes - 1),
        row_ptr=torch.where(used, found.row_ptr, edge.ptr[-1]),
        pair=torch.where(edge.used, found.pair, torch.arange(edges, device=index.device)),
        node_keep=node.used if found.node_keep is None else node.used & found.node_keep,
        edge_keep=edge.used if found.edge_keep is None else edge.used & found.edge_keep,
    )


def take_rows(values: Tensor, index: Tensor) -> Tensor:
    """``values.index_select(0, index)`` for dense and sparse ``values``."""
    if KERNEL.on and serve(index) and not is_sparse(values):
        from nmrgcl.ops.triton.rows import take_rows as by_kernel

        return by_kernel(values, index)
    return select_rows(values, index)


def graphs_per_pass(num_graphs: int, num_nodes: int, device: torch.device) -> int:
    """How many graphs to encode at a time without gradients, given how many graphs and nodes there are in all.

    A CPU is up to four times as fast if its caches hold a whole pass.
    """
    if not on_host(device):
        return GRAPHS_PER_PASS
    return max(1, min(GRAPHS_PER_PASS, NODES_IN_CACHE * num_graphs // max(1, num_nodes)))


Bounds = tuple[Tensor, Tensor]


def _bounds(graphs: FlatGraphs, index: Tensor, nodes: int, edges: int) -> tuple[tuple[Bounds, int], tuple[Bounds, int]]:
    """Where the nodes and the edges of the graphs named by ``index`` begin and end; each with its total."""
    first, last = graphs.node_ptr.index_select(0, index), graphs.node_ptr.index_select(0, index + 1)
    rows = graphs.row_ptr.index_select(0, first), graphs.row_ptr.index_select(0, last)
    return ((first, last), nodes), (rows, edges)


class _Ranges:
    """The items of the ranges ``start[i]:end[i]``, one range after another; there are ``total`` of them.

    Attributes:
        ptr: ``[B + 1]`` where each range begins now.
        shift: ``[B]`` old position minus new position.
        owner: ``[total]`` the range of each item.
        items: ``[total]`` old positions.
    """

    def __init__(self, start: Tensor, end: Tensor, total: int) -> None:
        count = end - start
        self.ptr = pad(count.cumsum(0), (1, 0))
        self.shift = start - self.ptr[:-1]
        self.owner = torch.repeat_interleave(count, output_size=total)
        self.items = torch.arange(total, device=start.device) + self.shift.index_select(0, self.owner)


class _PaddedRanges:
    """The same with room for ``total`` items, of which the ranges may need fewer; ``used`` marks the places they fill.

    Unused places belong to the last range and name item 0.
    """

    def __init__(self, start: Tensor, end: Tensor, total: int) -> None:
        self.ptr = pad((end - start).cumsum(0), (1, 0))
        self.shift = start - self.ptr[:-1]
        place = torch.arange(total, device=start.device)
        self.used = place < self.ptr[-1]
        # repeat_interleave would have to know on the host how many places are used.
        self.owner = torch.searchsorted(self.ptr[1:], place, right=True).clamp_(max=start.shape[0] - 1)
        self.items = torch.where(self.used, place + self.shift.index_select(0, self.owner), 0)


def _assemble(graphs: FlatGraphs, nodes: "_Ranges | _PaddedRanges", edges: "_Ranges | _PaddedRanges") -> Structure:
    row = graphs.row_ptr.index_select(0, nodes.items) - edges.shift.index_select(0, nodes.owner)
    return Structure(
        nodes=nodes.items,
        edges=edges.items,
        edge_index=select_edges(graphs.edge_index, edges.items).sub_(nodes.shift.index_select(0, edges.owner)),
        row_ptr=torch.cat([row, edges.ptr[-1:]]),
        node_ptr=nodes.ptr,
        batch=nodes.owner,
        pair=graphs.pair.index_select(0, edges.items) - edges.shift.index_select(0, edges.owner),
        node_keep=None if graphs.node_keep is None else graphs.node_keep.index_select(0, nodes.items),
        edge_keep=None if graphs.edge_keep is None else graphs.edge_keep.index_select(0, edges.items),
    )


def select_edges(edge_index: Tensor, index: Tensor) -> Tensor:
    """``edge_index[:, index]``, row by row, which is faster."""
    out = edge_index.new_empty(2, index.shape[0])
    for ends, place in zip(edge_index, out, strict=True):
        torch.index_select(ends, 0, index, out=place)
    return out
