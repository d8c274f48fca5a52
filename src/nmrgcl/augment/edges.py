"""Views that act on edges; an undirected edge comes and goes in both directions."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.functional import pad

from nmrgcl.augment.view import chance, check_share
from nmrgcl.graphs import Graphs


@dataclass(frozen=True)
class DropEdges:
    """Remove each undirected edge with probability ``p`` (EdgeDrop)."""

    p: float = 0.2

    def __post_init__(self) -> None:
        check_share(self, p=self.p)

    def __call__(self, graphs: Graphs, chosen: Tensor | None = None) -> Graphs:
        """Edges that an earlier view added are edges like any other."""
        risk = chance(self.p, chosen, graphs.batch)
        draw = torch.rand(graphs.num_edges, device=graphs.device)
        keep = (draw >= _of_edges(risk, graphs.edge_index)).index_select(0, graphs.pair)
        if graphs.added is None:
            return graphs.keep_edges(keep)
        draw = torch.rand(graphs.added.shape[1] // 2, device=graphs.device).repeat(2)
        return graphs.keep_edges(keep, draw >= _of_edges(risk, graphs.added))


def _of_edges(value: Tensor | float, edge_index: Tensor) -> Tensor | float:
    return value.index_select(0, edge_index[1]) if isinstance(value, Tensor) else value


@dataclass(frozen=True)
class AddEdges:
    """Add ``round(p · |E|)`` undirected edges between nodes of a graph that are not adjacent (EdgeAdd).

    No self-loops, no duplicates, and fewer edges where there are fewer free pairs. The pairs are an even draw
    without replacement, made without listing the free pairs, of which there are O(n²).
    """

    p: float = 0.2

    def __post_init__(self) -> None:
        check_share(self, p=self.p)

    def __call__(self, graphs: Graphs, chosen: Tensor | None = None) -> Graphs:
        """Half of ``added`` holds the new edges, the other half the same edges reversed."""
        graphs = graphs.merge_added()
        pairs = _NodePairs(graphs)
        budget = (self.p * pairs.taken_count).round().long()
        if chosen is not None:
            budget = budget * chosen
        budget = torch.minimum(budget, pairs.free_count)
        # Rounding gives a graph at most half an edge more than its share.
        size = int(self.p * graphs.num_edges + graphs.num_graphs / 2) + 1
        owner, rank, filled = _draw_distinct(budget, pairs.free_count, size)
        first, second = pairs.free_pair(owner, rank)
        added = torch.stack([torch.cat([first, second]), torch.cat([second, first])])
        return replace(graphs, added=added, added_keep=filled.repeat(2))


class _NodePairs:
    """Numbers the unordered pairs of each graph's kept nodes, and finds the k-th that is not an edge.

    Pair (i, i + d mod n) of n nodes has number (d − 1)·n + i with d ≤ n/2: numbers 0 … n(n−1)/2 − 1, each once,
    decoded by one division.
    """

    def __init__(self, graphs: Graphs) -> None:
        device, keep = graphs.device, graphs.node_keep
        if keep is None:
            self.node = torch.arange(graphs.num_nodes, device=device)
            rank = self.node
        else:
            self.node = torch.argsort(~keep, stable=True)  # kept nodes first, in order
            rank = keep.cumsum(0) - 1
        self.size = graphs.node_counts()
        self.start = pad(self.size.cumsum(0), (1, 0))[:-1]
        pair_count = self.size * (self.size - 1) // 2
        self.pair_start = pad(pair_count.cumsum(0), (1, 0))[:-1]
        source, destination = graphs.edge_index
        owner = graphs.batch.index_select(0, destination)
        number = self._number(rank[source] - self.start[owner], rank[destination] - self.start[owner], self.size[owner])
        # An edge counts once, by its first direction; loops and removed edges not at all.
        first = graphs.pair == torch.arange(graphs.num_edges, device=device)
        simple = graphs.live_edges & first & (source != destination)
        end = self.pair_start[-1] + pair_count[-1]
        taken = torch.sort(torch.where(simple, number + self.pair_start[owner], end)).values
        distinct = pad(taken[1:] != taken[:-1], (1, 0), value=True) & (taken < end)
        # Parallel edges take one pair: push their repeats to the end, too.
        self.taken = torch.sort(torch.where(distinct, taken, end)).values
        bounds = torch.searchsorted(self.taken, torch.stack([self.pair_start, self.pair_start + pair_count]))
        self.taken_start = bounds[0]
        self.taken_count = bounds[1] - bounds[0]
        self.free_count = pair_count - self.taken_count
        # Free pairs of all graphs that come before each taken pair; beyond the last, more than there are.
        before = self.taken - torch.arange(self.taken.shape[0], device=device)
        self.free_before = torch.where(self.taken < end, before, end)

    @staticmethod
    def _number(i: Tensor, j: Tensor, n: Tensor) -> Tensor:
        step = (j - i) % n
        swap = (2 * step > n) | ((2 * step == n) & (2 * i >= n))
        return (torch.where(swap, n - step, step) - 1) * n + torch.where(swap, j, i)

    def free_pair(self, owner: Tensor, rank: Tensor) -> tuple[Tensor, Tensor]:
        """The two nodes of free pair number ``rank`` of graph ``owner``."""
        rank = rank + self.pair_start[owner] - self.taken_start[owner]
        number = rank + torch.searchsorted(self.free_before, rank, right=True) - self.pair_start[owner]
        n = self.size[owner].clamp(min=1)
        first = number % n
        second = (first + number // n + 1) % n
        start, last = self.start[owner], self.node.shape[0] - 1
        return self.node[(start + first).clamp(0, last)], self.node[(start + second).clamp(0, last)]


def _draw_distinct(count: Tensor, total: Tensor, size: int) -> tuple[Tensor, Tensor, Tensor]:
    """For each group, ``count`` distinct numbers below ``total``, every subset equally likely.

    Floyd's algorithm for all groups at once: the j-th draw is even over 0 … total − count + j and gives way to
    that upper bound if it was drawn before. "Before" includes earlier bounds, which makes chains of slots;
    pointer doubling follows them all in log2(size) rounds.

    Returns:
        group, number and whether the slot is in use, ``[size]`` each.
    """
    ptr = pad(count.cumsum(0), (1, 0))
    slot = torch.arange(size, device=count.device)
    group = (torch.searchsorted(ptr, slot, right=True) - 1).clamp(0, count.shape[0] - 1)
    used = slot < ptr[-1]
    bound = total[group] - count[group] + slot - ptr[group]
    draw = (torch.rand(size, device=count.device, dtype=torch.float64) * (bound + 1)).long()
    draw = torch.where(used, torch.minimum(draw, bound), -1 - slot)
    # Sorted by group and number, a slot repeats an earlier draw if its predecessor has the same number.
    by_number = torch.argsort(draw, stable=True)
    by_number = by_number[torch.argsort(group[by_number], stable=True)]
    repeats = (draw[by_number][1:] == draw[by_number][:-1]) & (group[by_number][1:] == group[by_number][:-1])
    replaced = torch.zeros_like(used).index_copy_(0, by_number, pad(repeats, (1, 0), value=False))
    # A draw that equals the bound of an earlier slot is taken just if that slot gave way to its bound.
    earlier = ptr[group] + draw - (total[group] - count[group])
    follow = torch.where(used & (earlier >= ptr[group]) & (earlier < slot), earlier, slot)
    for _ in range(size.bit_length()):
        replaced = replaced | replaced[follow]
        follow = follow[follow]
    return group, torch.where(replaced, bound, draw), used
