"""Views that act on edges; an undirected edge comes and goes in both directions."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.functional import pad

from nmrgcl.augment.view import View, chance, check_share
from nmrgcl.graphs import Graphs
from nmrgcl.ops import serve


@dataclass(frozen=True)
class DropEdges(View):
    """Remove each undirected edge with probability ``p`` (EdgeDrop)."""

    p: float = 0.2

    def __post_init__(self) -> None:
        check_share(self, p=self.p)

    def forward(self, graphs: Graphs, chosen: Tensor | None = None) -> Graphs:
        """Edges that an earlier view added are edges like any other."""
        draw = torch.rand(graphs.num_edges, device=graphs.device)
        if serve(draw) and graphs.added is None:
            from nmrgcl.ops.triton.masks import keep_drawn_edges

            destination, before = graphs.edge_index[1], graphs.edge_keep
            kept = keep_drawn_edges(draw, graphs.pair, destination, graphs.batch, before, chosen, self.p)
            return replace(graphs, edge_keep=kept)
        risk = chance(self.p, chosen, graphs.batch)
        keep = (draw >= _of_edges(risk, graphs.edge_index)).index_select(0, graphs.pair)
        if graphs.added is None:
            return graphs.keep_edges(keep)
        draw = torch.rand(graphs.added.shape[1] // 2, device=graphs.device).repeat(2)
        return graphs.keep_edges(keep, draw >= _of_edges(risk, graphs.added))


def _of_edges(value: Tensor | float, edge_index: Tensor) -> Tensor | float:
    return value.index_select(0, edge_index[1]) if isinstance(value, Tensor) else value


@dataclass(frozen=True)
class AddEdges(View):
    """Add ``round(p · |E|)`` undirected edges between nodes of a graph that are not adjacent (EdgeAdd).

    No self-loops, no duplicates, and fewer edges where there are fewer free pairs. The pairs are an even draw
    without replacement, made without listing the free pairs, of which there are O(n²).
    """

    p: float = 0.2

    def __post_init__(self) -> None:
        check_share(self, p=self.p)

    def forward(self, graphs: Graphs, chosen: Tensor | None = None) -> Graphs:
        """Half of ``added`` holds the new edges, the other half the same edges reversed."""
        graphs = graphs.merge_added()
        if graphs.num_nodes == 0:
            return graphs
        # Rounding gives a graph at most half an edge more than its share.
        most = graphs.num_edges // 2 if graphs.symmetric else graphs.num_edges
        size = int(self.p * most + graphs.num_graphs / 2) + 1
        if serve(graphs.pair) and graphs.symmetric:
            return _add_by_kernel(graphs, chosen, self.p, 2 * size)
        pairs = _NodePairs(graphs)
        budget = (self.p * pairs.taken_count).round().long()
        if chosen is not None:
            budget = budget * chosen
        budget = torch.minimum(budget, pairs.free_count)
        owner, rank, filled = _draw_distinct(budget, pairs.free_count, size)
        first, second = pairs.free_pair(owner, rank * filled)
        added = torch.stack([torch.cat([first, second]), torch.cat([second, first])])
        return replace(graphs, added=added, added_keep=torch.cat([filled, filled]))


def _add_by_kernel(graphs: Graphs, chosen: Tensor | None, p: float, room: int) -> Graphs:
    """On a GPU the new edges are sorted in right away."""
    from nmrgcl.ops.triton.new_edges import add_edges

    seed = torch.randint(-(2**63), 2**63 - 1, (graphs.num_graphs,), device=graphs.device)
    keep = graphs.node_keep
    if keep is None:
        keep = torch.ones(graphs.num_nodes, dtype=torch.bool, device=graphs.device)
    found = add_edges(
        graphs.edge_index, graphs.row_ptr, graphs.node_ptr, graphs.pair, keep, graphs.live_edges, seed, chosen,
        p=p, room=room,
    )  # fmt: skip
    return replace(
        graphs,
        edge_index=found.edge_index,
        row_ptr=found.row_ptr,
        pair=found.pair,
        edge_keep=found.edge_keep,
        # Edges that a view invents have no features of their own: zero, and the ordinary weight.
        edge_attr=_with_one_more(graphs.edge_attr, found.origin, 0),
        edge_weight=_with_one_more(graphs.edge_weight, found.origin, 1),
    )


def _with_one_more(values: Tensor | None, origin: Tensor, value: float) -> Tensor | None:
    if values is None:
        return None
    return torch.cat([values, values.new_full((1, *values.shape[1:]), value)]).index_select(0, origin)


class _NodePairs:
    """Numbers the unordered pairs of each graph's kept nodes, and finds the k-th that is not an edge.

    Pair i < j of a graph has number j(j − 1)/2 + i, on top of those of the graphs before. Edges are sorted by
    destination, then source: those with source < destination are in the order of their numbers already.
    """

    def __init__(self, graphs: Graphs) -> None:
        self.size = graphs.node_counts()
        self.start = pad(self.size.cumsum(0), (1, 0))[:-1]
        pair_ptr = pad((self.size * (self.size - 1) // 2).cumsum(0), (1, 0))
        self.pair_start = pair_ptr[:-1]
        if graphs.node_keep is None:
            self.node = rank = torch.arange(graphs.num_nodes, device=graphs.device)
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

    def _one_beyond_taken(self, graphs: Graphs, rank: Tensor) -> Tensor:
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


def _draw_distinct(count: Tensor, total: Tensor, size: int) -> tuple[Tensor, Tensor, Tensor]:
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
    # A draw that equals the bound of an earlier slot is taken just if that slot gave way to its bound.
    earlier = begin + draw - spare
    follow = torch.where(used & (draw >= spare) & (earlier < slot), earlier, slot)
    longest = int(count.max()) if count.device.type == "cpu" else size
    for _ in range(longest.bit_length()):
        replaced = replaced | replaced.index_select(0, follow)
        follow = follow.index_select(0, follow)
    return group, torch.where(replaced, bound, draw), used
