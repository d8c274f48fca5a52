"""Graphlets as words: isomorphism classes of small subgraphs."""

from itertools import combinations, permutations

import torch
from torch import Tensor

from nmrgcl.graphs import Graphs
from nmrgcl.words.wl import combine


def graphlets(graphs: Graphs, size: int, samples: int, seed: int) -> tuple[Tensor, Tensor]:
    """Return ``[T]`` words for subgraphs induced by ``size`` random nodes, and the graph of each.

    Graphs with fewer nodes are padded with isolated ones. The draw depends only on the seed and the graph.
    """
    graph = (graphs.node_ptr.diff() > 0).nonzero().squeeze(1).repeat_interleave(samples)
    nodes = graphs.node_ptr.diff()[graph]
    sample = torch.arange(len(graph)) % max(samples, 1)
    chosen: list[Tensor] = []
    for place in range(size):
        key = combine(torch.full_like(sample, seed), sample, torch.full_like(sample, place))
        # In a graph with no node left, this and the next line name numbers beyond its nodes: the isolated ones.
        node = key % (nodes - place).clamp(min=1)
        for earlier in torch.stack(chosen).sort(0).values if chosen else ():
            node = node + (node >= earlier)  # skip nodes that were drawn before
        chosen.append(node)
    edge = graphs.edge_index[1] * graphs.num_nodes + graphs.edge_index[0]
    code, start = torch.zeros_like(graph), graphs.node_ptr[graph]
    for bit, (one, other) in enumerate(combinations(chosen, 2)):
        inside = (one < nodes) & (other < nodes)
        key = torch.where(inside, (start + one) * graphs.num_nodes + start + other, -1)
        there = torch.isin(key, edge)
        code += there.long() << bit
    # The smallest code over all orders of the nodes is the same for isomorphic graphlets only.
    return shape_codes(size)[code], graph


def shape_codes(size: int) -> Tensor:
    """Map each of the ``2^(size(size-1)/2)`` adjacency codes to the smallest code under permutation of its nodes.

    Bit b of a code is the b-th pair of ``combinations(range(size), 2)``.
    """
    pairs = list(combinations(range(size), 2))
    number = {pair: bit for bit, pair in enumerate(pairs)}
    code = torch.arange(2 ** len(pairs))
    smallest = code.clone()
    for order in permutations(range(size)):
        moved = torch.zeros_like(code)
        for bit, (one, other) in enumerate(pairs):
            target = number[min(order[one], order[other]), max(order[one], order[other])]
            moved |= ((code >> bit) & 1) << target
        smallest = torch.minimum(smallest, moved)
    return smallest
