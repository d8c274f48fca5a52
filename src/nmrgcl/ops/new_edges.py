"""Edges between nodes that are not adjacent: drawn evenly, and sorted in among those that are there.

The plain form lists the new edges; they are sorted in when something needs the rows of the graph. The kernel does both
at once. No form depends on chance for its shapes, nor asks a GPU for a number, so that a step can be recorded.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from nmrgcl.ops import on_host, serve
from nmrgcl.ops.batch import select_edges
from nmrgcl.ops.flat_graphs import FlatGraphs
from nmrgcl.ops.forms import Form

PLAIN = Form("new edges", "plain", "on a CPU, and directed graphs")
KERNEL = Form("new edges", "Triton kernel", "undirected graphs, on a GPU")
FORMS = (PLAIN, KERNEL)


class Listed(NamedTuple):
    """New edges as a list of their own: ``[2, A]``, and ``[A]`` which entries are edges and not padding.

    The second half holds the edges of the first half, reversed.
    """

    added: Tensor
    keep: Tensor


class Merged(NamedTuple):
    """The edges of graphs with the new ones among them; names are those of ``nmrgcl.graphs.Graphs``.

    ``origin`` (``[E]``) is the number that each edge had, and one beyond the last for new edges and padding. Padding
    comes last, beyond every row.
    """

    edge_index: Tensor
    row_ptr: Tensor
    pair: Tensor
    edge_keep: Tensor
    origin: Tensor


def draw_edges(graphs: FlatGraphs, chosen: Tensor | None, p: float) -> Listed | Merged:
    """``round(p · |E|)`` new undirected edges for each chosen graph, or as many as there are free pairs of nodes.

    Every set of free pairs is as likely as any other of its size. There are no loops and no duplicates.

    Args:
        graphs: with at least one node.
        chosen: ``[B]`` bool; None means all graphs.
        p: new edges for each edge.
    """
    edges, count = graphs.edge_index.shape[1], graphs.node_ptr.shape[0] - 1
    # Rounding gives a graph at most half an edge more than its share.
    most = int(p * (edges // 2 if graphs.symmetric else edges) + count / 2) + 1
    if KERNEL.on and serve(graphs.pair) and graphs.symmetric:
        return _by_kernel(graphs, chosen, p, 2 * most)
    return _plain(graphs, chosen, p, most)


def _plain(graphs: FlatGraphs, chosen: Tensor | None, p: float, most: int) -> Listed:
    """``draw_edges`` without listing the free pairs, of which there are O(n²)."""
    pairs = NodePairs(graphs)
    budget = (p * pairs.taken_count).round().long()
    if chosen is not None:
        budget = budget * chosen
    budget = torch.minimum(budget, pairs.free_count)
    owner, rank, filled = draw_distinct(budget, pairs.free_count, most)
    first, second = pairs.free_pair(owner, rank * filled)
    added = torch.stack([torch.cat([first, second]), torch.cat([second, first])])
    return Listed(added, torch.cat([filled, filled]))


def _by_kernel(graphs: FlatGraphs, chosen: Tensor | None, p: float, room: int) -> Merged:
    """``draw_edges`` with room for so many new directed edges."""
    from nmrgcl.ops.triton.new_edges import add_edges

    seed = torch.randint(-(2**63), 2**63 - 1, (graphs.node_ptr.shape[0] - 1,), device=graphs.pair.device)
    keep = torch.ones_like(graphs.batch, dtype=torch.bool) if graphs.node_keep is None else graphs.node_keep
    return add_edges(
        graphs.edge_index, graphs.row_ptr, graphs.node_ptr, graphs.pair, keep, graphs.live_edges, seed, chosen,
        p=p, room=room,
    )  # fmt: skip


def merge_edges(graphs: FlatGraphs, added: Tensor, keep: Tensor) -> Merged:
    """Sort a list of new edges in among those of ``graphs``.

    The number of edges becomes what it was plus the padded size of the list, so nothing waits for the host.
    """
    num_nodes, own, new = graphs.row_ptr.shape[0] - 1, graphs.edge_index.shape[1], added.shape[1]
    there = keep if graphs.node_keep is None else keep & graphs.node_keep[added].all(0)
    added = torch.where(there, added, num_nodes - 1)
    # Padding has a key beyond that of every edge, so it is sorted to the end.
    key = torch.where(there, added[1] * num_nodes + added[0], num_nodes * num_nodes)
    key, by_key = torch.sort(key, stable=True)
    # Two sorted lists are merged: an edge's place is its own rank plus the number of edges of the other list before it.
    own_before = torch.searchsorted(graphs.edge_index[1] * num_nodes + graphs.edge_index[0], key)
    new_before = graphs.pair.new_zeros(own + 1).scatter_add_(0, own_before, torch.ones_like(key))
    position = torch.arange(own + new, device=key.device)
    own_place = position[:own] + new_before.cumsum(0)[:own]
    new_place = torch.empty_like(key).index_copy_(0, by_key, own_before + position[:new])
    order = torch.empty_like(position).index_copy_(0, torch.cat([own_place, new_place]), position)
    first = torch.minimum(*new_place.chunk(2))  # of each new edge and its reverse
    pair = torch.cat([own_place.index_select(0, graphs.pair), first, first])
    rows = torch.zeros_like(graphs.row_ptr).scatter_add_(0, added[1] + 1, there.long())
    return Merged(
        edge_index=select_edges(torch.cat([graphs.edge_index, added], 1), order),
        row_ptr=graphs.row_ptr + rows.cumsum(0),
        pair=pair.index_select(0, order),
        edge_keep=torch.cat([graphs.live_edges, there]).index_select(0, order),
        origin=order.clamp_(max=own),
    )


class NodePairs:
    """Numbers the unordered pairs of each graph's kept nodes, and finds the k-th that is not an edge.

    Pair i < j of a graph has number j(j − 1)/2 + i, on top of those of the graphs before. Edges are sorted by
    destination, then source: those with source < destination are in the order of their numbers already.
    """

    def __init__(self, graphs: FlatGraphs) -> None:
        self.size = graphs.node_counts()
        self.start = pad(self.size.cumsum(0), (1, 0))[:-1]
        pair_ptr = pad((self.size * (self.size - 1) // 2).cumsum(0), (1, 0))
        self.pair_start = pair_ptr[:-1]
        if graphs.node_keep is None:
            self.node = rank = torch.arange(graphs.batch.shape[0], device=graphs.batch.device)
        else:
            self.node = torch.argsort(~graphs.node_keep, stable=True)  # kept nodes first, in order
            rank = graphs.node_keep.cumsum(0) - 1
        taken = self._one_beyond_taken(graphs, rank)
        # At each place: how many pairs are taken up to here, and how many are free before the last of them.
        self.taken_before = pad((taken > pad(taken[:-1], (1, 0))).cumsum(0), (1, 0))
        self.free_before = taken - self.taken_before[1:]
        taken_ptr = self.taken_before[torch.searchsorted(taken, pair_ptr, right=True)]
        self.free_start = self.pair_start - taken_ptr[:-1]
        self.taken_count = taken_ptr.diff()
        self.free_count = pair_ptr.diff() - self.taken_count

    def _one_beyond_taken(self, graphs: FlatGraphs, rank: Tensor) -> Tensor:
        """``[E]`` rising: one more than the largest number so far that is an edge's, and 0 before the first."""
        source, destination = graphs.edge_index
        place = rank - self.start.index_select(0, graphs.batch)
        row = self.pair_start.index_select(0, graphs.batch) + place * (place - 1) // 2
        if graphs.symmetric:
            number = row.index_select(0, destination) + place.index_select(0, source)
            return (graphs.live_edges & (source < destination)).mul(number + 1).cummax(0).values
        low, high = torch.minimum(source, destination), torch.maximum(source, destination)
        number = row.index_select(0, high) + place.index_select(0, low)
        return (graphs.live_edges & (low < high)).mul(number + 1).sort().values

    def free_pair(self, owner: Tensor, rank: Tensor) -> tuple[Tensor, Tensor]:
        """The two nodes of free pair number ``rank`` of graph ``owner``."""
        rank = rank + self.free_start.index_select(0, owner)
        place = torch.searchsorted(self.free_before, rank, right=True)
        number = rank + self.taken_before.index_select(0, place) - self.pair_start.index_select(0, owner)
        # The largest j with j(j − 1)/2 ≤ number; the root may be off by one where numbers are large.
        j = ((1 + (8 * number + 1).double().sqrt()) / 2).long()
        j = j - (j * (j - 1) // 2 > number).long() + (j * (j + 1) // 2 <= number)
        start, last = self.start.index_select(0, owner), self.node.shape[0] - 1
        i = number - j * (j - 1) // 2
        return self.node[(start + i).clamp_(0, last)], self.node[(start + j).clamp_(0, last)]


def draw_distinct(count: Tensor, total: Tensor, size: int) -> tuple[Tensor, Tensor, Tensor]:
    """For each group, ``count`` distinct numbers below ``total``, every subset equally likely.

    Floyd's algorithm for all groups at once: the j-th draw is even over 0 … total − count + j and gives way to
    that upper bound if it was drawn before. "Before" includes earlier bounds, which makes chains of slots;
    pointer doubling follows them all in as many rounds as the longest chain has binary digits.

    Returns:
        group, number and whether the slot is in use, ``[size]`` each.
    """
    ptr = pad(count.cumsum(0), (1, 0))
    slot = torch.arange(size, device=count.device)
    group = torch.searchsorted(ptr[1:], slot, right=True).clamp_(max=count.shape[0] - 1)
    used = slot < ptr[-1]
    begin, spare = ptr.index_select(0, group), (total - count).index_select(0, group)
    bound = spare + slot - begin
    draw = (torch.rand(size, device=count.device, dtype=torch.float64) * (bound + 1)).long()
    draw = torch.minimum(draw, bound)
    # Sorted by group and number, a slot repeats an earlier draw if its predecessor has the same key.
    before = total.cumsum(0) - total
    key, by_key = torch.sort(torch.where(used, before.index_select(0, group) + draw, -1 - slot), stable=True)
    replaced = torch.zeros_like(used).index_copy_(0, by_key, pad(key[1:] == key[:-1], (1, 0), value=False))
    # A draw that equals the bound of an earlier slot is taken exactly if that slot gave way to its bound.
    earlier = begin + draw - spare
    follow = torch.where(used & (draw >= spare) & (earlier < slot), earlier, slot)
    longest = int(count.max()) if on_host(count) else size  # a GPU is not asked: no chain is longer than all slots
    for _ in range(longest.bit_length()):
        replaced = replaced | replaced.index_select(0, follow)
        follow = follow.index_select(0, follow)
    return group, torch.where(replaced, bound, draw), used
