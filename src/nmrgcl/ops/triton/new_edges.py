"""New edges between nodes that are not adjacent, drawn and sorted in among the others.

As operations on whole batches this takes some hundred launches, most of them for a few thousand numbers. Here it takes
three. One program per graph sorts the few new edges of the graph by comparing each with all others. If there are many,
that would take too long, most of all for the largest graph: then programs share all new edges, with a sort in between.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from nmrgcl.ops.new_edges import Merged

BLOCK = 128
"""Nodes, edges or draws at a time."""

WIDE_BLOCK = 1024
"""The same for large graphs."""

MANY = 64
"""New directed edges per graph, on average, above which all of them are sorted at once."""

ROUNDS = 48
"""Rounds of the shuffle that draws without replacement; each halves what is left of the original order."""


def add_edges(
    edge_index: Tensor,
    row_ptr: Tensor,
    node_ptr: Tensor,
    pair: Tensor,
    node_keep: Tensor,
    live: Tensor,
    seed: Tensor,
    chosen: Tensor | None,
    *,
    p: float,
    room: int,
) -> Merged:
    """Add ``round(p · edges)`` undirected edges to each chosen graph, or as many as there are pairs without one.

    ``nmrgcl.ops.new_edges.draw_edges`` describes them. The graphs must be symmetric.

    Args:
        edge_index: ``[2, E]``, sorted by destination, then source.
        row_ptr: ``[N + 1]``.
        node_ptr: ``[B + 1]``.
        pair: ``[E]``.
        node_keep: ``[N]`` which nodes there are.
        live: ``[E]`` which edges there are.
        seed: ``[B]`` int64, new at every call.
        chosen: ``[B]``; None means all.
        p: share of edges.
        room: new directed edges of all graphs together, padding included.
    """
    graphs, (nodes, edges), device = node_ptr.shape[0] - 1, (row_ptr.shape[0] - 1, edge_index.shape[1]), pair.device

    def whole(*shape: int) -> Tensor:
        return torch.empty(shape, dtype=torch.long, device=device)

    place, kept, taken, free_before = whole(nodes), whole(nodes), whole(edges), whole(edges)
    free, budget, new_ptr = whole(graphs), whole(graphs), whole(graphs + 1)
    many = room > MANY * graphs
    _number_pairs[(graphs,)](
        place, kept, taken, free_before, free, budget, edge_index, row_ptr, node_ptr, node_keep, live, chosen, p,
        edge_index.stride(0), CHOSEN=chosen is not None, BLOCK=WIDE_BLOCK if many else BLOCK,
    )  # fmt: skip
    _place_new[(1,)](new_ptr, budget, graphs, BLOCK=min(1024, triton.next_power_of_2(graphs)))
    key, position = whole(room), whole(room)
    found = Merged(
        whole(2, edges + room), whole(nodes + 1), whole(edges + room),
        torch.empty(edges + room, dtype=torch.bool, device=device), whole(edges + room),
    )  # fmt: skip
    if many:
        _draw_keys[(triton.cdiv(room // 2, BLOCK),)](
            key, new_ptr, free, taken, free_before, kept, row_ptr, node_ptr, seed, graphs, nodes, room // 2,
            ROUNDS=ROUNDS, BLOCK=BLOCK,
        )  # fmt: skip
        in_order, slot = torch.sort(key)
        _place_sorted[(triton.cdiv(room, BLOCK),)](
            found.edge_index, found.edge_keep, found.origin, position, in_order, slot, new_ptr, edge_index, row_ptr,
            graphs, nodes, edges, room, BLOCK=BLOCK,
        )  # fmt: skip
        _merge_sorted[(triton.cdiv(max(edges + room, nodes + 1), BLOCK),)](
            *found, in_order, position, new_ptr, edge_index, row_ptr, node_ptr, pair, live, graphs, nodes, edges, room,
            edge_index.stride(0), BLOCK=BLOCK,
        )  # fmt: skip
        return found
    in_order = whole(room)
    _merge_new[(graphs + 1,)](
        *found, key, in_order, position, new_ptr, free, taken, free_before, kept, edge_index, row_ptr, node_ptr, pair,
        live, seed, graphs, nodes, edges, room, edge_index.stride(0), ROUNDS=ROUNDS, BLOCK=BLOCK,
    )  # fmt: skip
    return found


@triton.jit
def _larger(a: tl.tensor, b: tl.tensor) -> tl.tensor:
    return tl.maximum(a, b)


@triton.jit
def _number(
    edge: tl.tensor, first: tl.tensor, last: tl.tensor, edge_index: tl.tensor, live: tl.tensor, place: tl.tensor,
    stride: tl.tensor,
) -> tl.tensor:  # fmt: skip
    """One more than the number j(j − 1)/2 + i of the pair i < j that an edge takes; 0 where there is none."""
    there = (edge >= first) & (edge < last)
    source = tl.load(edge_index + edge, mask=there, other=0)
    destination = tl.load(edge_index + stride + edge, mask=there, other=0)
    counts = there & (source < destination) & (tl.load(live + edge, mask=there, other=0) != 0)
    i, j = tl.load(place + source, mask=counts, other=0), tl.load(place + destination, mask=counts, other=0)
    return tl.where(counts, j * (j - 1) // 2 + i + 1, 0)


@triton.jit
def _number_pairs(
    place: tl.tensor, kept: tl.tensor, taken: tl.tensor, free_before: tl.tensor, free: tl.tensor, budget: tl.tensor,
    edge_index: tl.tensor, row_ptr: tl.tensor, node_ptr: tl.tensor, node_keep: tl.tensor, live: tl.tensor,
    chosen: tl.tensor, p: tl.tensor, stride: tl.tensor, CHOSEN: tl.constexpr, BLOCK: tl.constexpr,
) -> None:  # fmt: skip
    """One program: one graph. At each edge: how many pairs are taken up to it, and how many are free before that.

    Edges are sorted by destination, then source: those with source < destination are in the order of their numbers.
    """
    graph = tl.program_id(0)
    first_node, last_node = tl.load(node_ptr + graph), tl.load(node_ptr + graph + 1)
    size = tl.full((), 0, tl.int64)
    for start in range(first_node, last_node, BLOCK):
        node = start + tl.arange(0, BLOCK)
        is_kept = (tl.load(node_keep + node, mask=node < last_node, other=0) != 0).to(tl.int64)
        rank = size + tl.cumsum(is_kept, 0) - 1
        tl.store(place + node, rank, mask=node < last_node)
        tl.store(kept + first_node + rank, node, mask=is_kept > 0)
        size += tl.sum(is_kept, 0)
    tl.debug_barrier()  # all threads of the program see the ranks
    first, last = tl.load(row_ptr + first_node), tl.load(row_ptr + last_node)
    count, most = tl.full((), 0, tl.int64), tl.full((), 0, tl.int64)
    for start in range(first, last, BLOCK):
        edge = start + tl.arange(0, BLOCK)
        number = _number(edge, first, last, edge_index, live, place, stride)
        # Triton cannot shift a block by one place, so the preceding edges are read once more.
        before = _number(edge - 1, first, last, edge_index, live, place, stride)
        earlier = tl.maximum(tl.associative_scan(before, 0, _larger), most)
        is_new = (number > earlier).to(tl.int64)  # parallel edges take one pair
        so_far = count + tl.cumsum(is_new, 0)
        tl.store(taken + edge, so_far, mask=edge < last)
        tl.store(free_before + edge, tl.maximum(earlier, number) - so_far, mask=edge < last)
        count += tl.sum(is_new, 0)
        most = tl.maximum(most, tl.max(number, 0))
    unused = size * (size - 1) // 2 - count
    share = p * count.to(tl.float32)
    wanted = tl.floor(share + 0.5)
    half = wanted - share == 0.5  # halves are rounded to what is even, as PyTorch does
    wanted = tl.where(half & (wanted.to(tl.int64) % 2 == 1), wanted - 1, wanted)
    amount = tl.minimum(wanted.to(tl.int64), unused)
    if CHOSEN:
        amount = tl.where(tl.load(chosen + graph) != 0, amount, 0)
    tl.store(free + graph, unused)
    tl.store(budget + graph, amount)


@triton.jit
def _place_new(new_ptr: tl.tensor, budget: tl.tensor, graphs: tl.tensor, BLOCK: tl.constexpr) -> None:
    """One program: where the new directed edges of each graph begin."""
    total = tl.full((), 0, tl.int64)
    tl.store(new_ptr, total)
    for start in range(0, graphs, BLOCK):
        graph = start + tl.arange(0, BLOCK)
        amount = 2 * tl.load(budget + graph, mask=graph < graphs, other=0)
        tl.store(new_ptr + 1 + graph, total + tl.cumsum(amount, 0), mask=graph < graphs)
        total += tl.sum(amount, 0)


@triton.jit
def _mix(value: tl.tensor) -> tl.tensor:
    """The last step of MurmurHash3 (Appleby): every bit of a uint32 depends on every other."""
    value = value ^ (value >> 16)
    value = value * 0x85EBCA6B
    value = value ^ (value >> 13)
    value = value * 0xC2B2AE35
    return value ^ (value >> 16)


@triton.jit
def _shuffled(x: tl.tensor, total: tl.tensor, seed: tl.tensor, ROUNDS: tl.constexpr) -> tl.tensor:
    """Where a random permutation of 0 … ``total`` − 1 takes ``x``: swap or not (Hoang, Morris & Rogaway 2012).

    In each round all numbers are paired off at random, and each pair is exchanged, or not, by a toss.
    """
    low, high = (seed & 0xFFFFFFFF).to(tl.uint32), (seed >> 32).to(tl.uint32)
    for number in range(ROUNDS):
        key = _mix(_mix(low + number) ^ high)
        # 63 random bits, so that the remainder favours no number noticeably. They stay below 2⁶³ even for the largest
        # key, because key + 1 wraps to 0 and _mix(0) is 0.
        sum_of_pair = ((key.to(tl.int64) << 31) + _mix(key + 1).to(tl.int64)) % total
        other = sum_of_pair - x
        other = tl.where(other < 0, other + total, other)
        name = tl.maximum(x, other)
        toss = _mix(_mix((name & 0xFFFFFFFF).to(tl.uint32) ^ key) + (name >> 32).to(tl.uint32))
        x = tl.where((toss & 1) == 1, other, x)
    return x


@triton.jit
def _count_below(values: tl.tensor, first: tl.tensor, last: tl.tensor, bound: tl.tensor) -> tl.tensor:
    """How many of the rising ``values[first:last]`` are below each ``bound``."""
    low = tl.zeros_like(bound) + first
    high = tl.zeros_like(bound) + last
    size = tl.full((), 0, tl.int64) + last - first
    while size > 0:
        open_ = low < high
        middle = (low + high) // 2
        below = tl.load(values + middle, mask=open_, other=0) < bound
        low, high = tl.where(open_ & below, middle + 1, low), tl.where(open_ & (below == 0), middle, high)
        size = size // 2
    return low - first


@triton.jit
def _free_pair(
    rank: tl.tensor, first: tl.tensor, last: tl.tensor, taken: tl.tensor, free_before: tl.tensor
) -> tuple[tl.tensor, tl.tensor]:
    """The free pair number ``rank`` of a graph, whose edges are ``first:last``."""
    place = first + _count_below(free_before, first, last, rank + 1)
    return _ends_of(rank + tl.load(taken + place - 1, mask=place > first, other=0))


@triton.jit
def _ends_of(number: tl.tensor) -> tuple[tl.tensor, tl.tensor]:
    """The i and j of the pair with this number."""
    # The largest j with j(j − 1)/2 ≤ number; the root may be off by one where numbers are large.
    j = ((1.0 + tl.sqrt((8 * number + 1).to(tl.float64))) / 2.0).to(tl.int64)
    j = tl.where(j * (j - 1) // 2 > number, j - 1, j)
    j = tl.where(j * (j + 1) // 2 <= number, j + 1, j)
    return number - j * (j - 1) // 2, j


@triton.jit
def _first_from(
    values: tl.tensor, low: tl.tensor, high: tl.tensor, bound: tl.tensor, there: tl.tensor
) -> tl.tensor:  # fmt: skip
    """Where in its own part ``low:high`` of the rising ``values`` each ``bound`` would come first."""
    while tl.max(high - low, 0) > 0:
        middle = (low + high) // 2
        is_open = low < high
        below = tl.load(values + middle, mask=there & is_open, other=0) < bound
        low = tl.where(is_open & below, middle + 1, low)
        high = tl.where(is_open & (below == 0), middle, high)
    return low


@triton.jit
def _merge_new(
    new_edge_index: tl.tensor, new_row_ptr: tl.tensor, new_pair: tl.tensor, new_keep: tl.tensor, origin: tl.tensor,
    key: tl.tensor, in_order: tl.tensor, position: tl.tensor, new_ptr: tl.tensor, free: tl.tensor, taken: tl.tensor,
    free_before: tl.tensor, kept: tl.tensor, edge_index: tl.tensor, row_ptr: tl.tensor, node_ptr: tl.tensor,
    pair: tl.tensor, live: tl.tensor, seed: tl.tensor, graphs: tl.tensor, nodes: tl.tensor, edges: tl.tensor,
    room: tl.tensor, stride: tl.tensor, ROUNDS: tl.constexpr, BLOCK: tl.constexpr,
) -> None:  # fmt: skip
    """One program: one graph; the last program: padding.

    An edge's key is destination · N + source. A new edge comes before an edge of the same key, which is a removed one.
    """
    graph, width = tl.program_id(0), edges + room
    first_node = tl.load(node_ptr + graph)
    first, begin = tl.load(row_ptr + first_node), tl.load(new_ptr + graph)
    if graph < graphs:
        last_node, end = tl.load(node_ptr + graph + 1), tl.load(new_ptr + graph + 1)
        last, half = tl.load(row_ptr + last_node), (end - begin) // 2
        # Slot k gets the free pair to which a random permutation takes k, so no pair is drawn twice.
        for start in range(0, half, BLOCK):
            slot = start + tl.arange(0, BLOCK)
            there = slot < half
            total = tl.load(free + graph)
            rank = _shuffled(tl.where(there, slot, 0).to(tl.int64), total, tl.load(seed + graph), ROUNDS)
            i, j = _free_pair(rank, first, last, taken, free_before)
            low = tl.load(kept + first_node + i, mask=there, other=0)
            high = tl.load(kept + first_node + j, mask=there, other=0)
            tl.store(key + begin + slot, high * nodes + low, mask=there)
            tl.store(key + begin + half + slot, low * nodes + high, mask=there)
        # The ranks are counted among all keys, so every thread must have stored its own by now.
        tl.debug_barrier()
        for start in range(begin, end, BLOCK):
            slot = start + tl.arange(0, BLOCK)
            there = slot < end
            mine = tl.load(key + slot, mask=there, other=0)
            rank = tl.zeros([BLOCK], tl.int64)
            for other in range(begin, end):  # few: by default a fifth of a graph's edges
                rank += (tl.load(key + other) < mine).to(tl.int64)
            destination, source = mine // nodes, mine % nodes
            tl.store(in_order + begin + rank, mine, mask=there)
            low = tl.load(row_ptr + destination, mask=there, other=0)
            high = tl.load(row_ptr + destination + 1, mask=there, other=0)
            # A new edge's place: its rank among the new edges plus the number of old edges before it.
            to = _first_from(edge_index, low, high, source, there) + begin + rank
            tl.store(position + slot, to, mask=there)
            tl.store(new_edge_index + to, source, mask=there)
            tl.store(new_edge_index + width + to, destination, mask=there)
            tl.store(new_keep + to, there, mask=there)
            tl.store(origin + to, edges + tl.zeros([BLOCK], tl.int64), mask=there)
        tl.debug_barrier()
        for start in range(begin, end, BLOCK):
            slot = start + tl.arange(0, BLOCK)
            there = slot < end
            # A pair is named after the first of its two edges, whose positions are both known only now.
            twin = tl.where(slot < begin + half, slot + half, slot - half)
            to = tl.load(position + slot, mask=there, other=0)
            tl.store(new_pair + to, tl.minimum(to, tl.load(position + twin, mask=there, other=0)), mask=there)
        for start in range(first, last, BLOCK):
            edge = start + tl.arange(0, BLOCK)
            there = edge < last
            source = tl.load(edge_index + edge, mask=there, other=0)
            destination = tl.load(edge_index + stride + edge, mask=there, other=0)
            # An old edge moves up by the number of new edges before it; + 1 lets a new edge of the same key come first.
            to = edge + begin + _count_below(in_order, begin, end, destination * nodes + source + 1)
            tl.store(new_edge_index + to, source, mask=there)
            tl.store(new_edge_index + width + to, destination, mask=there)
            tl.store(new_keep + to, tl.load(live + edge, mask=there, other=0), mask=there)
            tl.store(origin + to, edge, mask=there)
            twin = tl.load(pair + edge, mask=there, other=0)
            source = tl.load(edge_index + twin, mask=there, other=0)
            destination = tl.load(edge_index + stride + twin, mask=there, other=0)
            twin += begin + _count_below(in_order, begin, end, destination * nodes + source + 1)
            tl.store(new_pair + to, twin, mask=there)
        for start in range(first_node, last_node, BLOCK):
            node = start + tl.arange(0, BLOCK)
            there = node < last_node
            row = tl.load(row_ptr + node, mask=there, other=0)
            row += begin + _count_below(in_order, begin, end, node * nodes)
            tl.store(new_row_ptr + node, row, mask=there)
    else:
        for start in range(first_node, nodes + 1, BLOCK):
            node = start + tl.arange(0, BLOCK)
            row = tl.load(row_ptr + node, mask=node <= nodes, other=0) + begin
            tl.store(new_row_ptr + node, row, mask=node <= nodes)
        for start in range(first + begin, width, BLOCK):
            to = start + tl.arange(0, BLOCK)
            there = to < width
            nothing = tl.zeros([BLOCK], tl.int64)
            for side in tl.static_range(2):
                tl.store(new_edge_index + side * width + to, nothing + nodes - 1, mask=there)
            tl.store(new_pair + to, to, mask=there)
            tl.store(new_keep + to, nothing > 0, mask=there)
            tl.store(origin + to, nothing + edges, mask=there)


@triton.jit
def _draw_keys(
    key: tl.tensor, new_ptr: tl.tensor, free: tl.tensor, taken: tl.tensor, free_before: tl.tensor, kept: tl.tensor,
    row_ptr: tl.tensor, node_ptr: tl.tensor, seed: tl.tensor, graphs: tl.tensor, nodes: tl.tensor, half: tl.tensor,
    ROUNDS: tl.constexpr, BLOCK: tl.constexpr,
) -> None:  # fmt: skip
    """Keys of all new edges, and ``half`` further on those of their reverses; what is not used comes last in order."""
    slot = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    there = 2 * slot < tl.load(new_ptr + graphs)
    graph = tl.where(there, _count_below(new_ptr + 1, 0, graphs, 2 * slot + 1), 0)
    begin = tl.load(new_ptr + graph) // 2
    total = tl.where(there, tl.load(free + graph), 1)
    rank = _shuffled(tl.where(there, slot - begin, 0), total, tl.load(seed + graph), ROUNDS)
    first_node = tl.load(node_ptr + graph)
    first, last = tl.load(row_ptr + first_node), tl.load(row_ptr + tl.load(node_ptr + graph + 1))
    place = _first_from(free_before, first, tl.where(there, last, first), rank + 1, there)
    i, j = _ends_of(rank + tl.load(taken + place - 1, mask=there & (place > first), other=0))
    low = tl.load(kept + first_node + i, mask=there, other=0)
    high = tl.load(kept + first_node + j, mask=there, other=0)
    beyond = (tl.zeros([BLOCK], tl.int64) + nodes) * nodes
    tl.store(key + slot, tl.where(there, high * nodes + low, beyond), mask=slot < half)
    tl.store(key + half + slot, tl.where(there, low * nodes + high, beyond), mask=slot < half)


@triton.jit
def _place_sorted(
    new_edge_index: tl.tensor, new_keep: tl.tensor, origin: tl.tensor, position: tl.tensor, in_order: tl.tensor,
    slot: tl.tensor, new_ptr: tl.tensor, edge_index: tl.tensor, row_ptr: tl.tensor, graphs: tl.tensor,
    nodes: tl.tensor, edges: tl.tensor, room: tl.tensor, BLOCK: tl.constexpr,
) -> None:  # fmt: skip
    """New edges, in order, to where they come among the others."""
    rank = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    there, width = rank < tl.load(new_ptr + graphs), edges + room
    key = tl.load(in_order + rank, mask=there, other=0)
    destination, source = key // nodes, key % nodes
    low = tl.load(row_ptr + destination, mask=there, other=0)
    high = tl.load(row_ptr + destination + 1, mask=there, other=0)
    to = _first_from(edge_index, low, high, source, there) + rank
    tl.store(position + tl.load(slot + rank, mask=there, other=0), to, mask=there)
    tl.store(new_edge_index + to, source, mask=there)
    tl.store(new_edge_index + width + to, destination, mask=there)
    tl.store(new_keep + to, there, mask=there)
    tl.store(origin + to, edges + tl.zeros([BLOCK], tl.int64), mask=there)


@triton.jit
def _merge_sorted(
    new_edge_index: tl.tensor, new_row_ptr: tl.tensor, new_pair: tl.tensor, new_keep: tl.tensor, origin: tl.tensor,
    in_order: tl.tensor, position: tl.tensor, new_ptr: tl.tensor, edge_index: tl.tensor, row_ptr: tl.tensor,
    node_ptr: tl.tensor, pair: tl.tensor, live: tl.tensor, graphs: tl.tensor, nodes: tl.tensor, edges: tl.tensor,
    room: tl.tensor, stride: tl.tensor, BLOCK: tl.constexpr,
) -> None:  # fmt: skip
    """Everything else: pairs of new edges, edges that were there, rows, and padding."""
    item, width = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK), edges + room
    new, old, half = tl.load(new_ptr + graphs), tl.load(row_ptr + tl.load(node_ptr + graphs)), room // 2
    is_new = 2 * item < new
    to = tl.load(position + item, mask=is_new, other=0)
    reverse = tl.load(position + half + item, mask=is_new, other=0)
    tl.store(new_pair + to, tl.minimum(to, reverse), mask=is_new)
    tl.store(new_pair + reverse, tl.minimum(to, reverse), mask=is_new)
    there = item < old
    source = tl.load(edge_index + item, mask=there, other=0)
    destination = tl.load(edge_index + stride + item, mask=there, other=0)
    to = item + _count_below(in_order, 0, new, destination * nodes + source + 1)
    tl.store(new_edge_index + to, source, mask=there)
    tl.store(new_edge_index + width + to, destination, mask=there)
    tl.store(new_keep + to, tl.load(live + item, mask=there, other=0), mask=there)
    tl.store(origin + to, item, mask=there)
    twin = tl.load(pair + item, mask=there, other=0)
    source = tl.load(edge_index + twin, mask=there, other=0)
    destination = tl.load(edge_index + stride + twin, mask=there, other=0)
    twin += _count_below(in_order, 0, new, destination * nodes + source + 1)
    tl.store(new_pair + to, twin, mask=there)
    row = tl.load(row_ptr + item, mask=item <= nodes, other=0) + _count_below(in_order, 0, new, item * nodes)
    tl.store(new_row_ptr + item, row, mask=item <= nodes)
    padding, nothing = (item >= old + new) & (item < width), tl.zeros([BLOCK], tl.int64)
    for side in tl.static_range(2):
        tl.store(new_edge_index + side * width + item, nothing + nodes - 1, mask=padding)
    tl.store(new_pair + item, item, mask=padding)
    tl.store(new_keep + item, nothing > 0, mask=padding)
    tl.store(origin + item, nothing + edges, mask=padding)
