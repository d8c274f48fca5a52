"""Shortest paths as words: the labels of two nodes and their distance."""

from collections.abc import Iterator

import numpy as np
import torch
from scipy.sparse import csr_array, eye_array
from torch import Tensor

from nmrgcl.graphs import Graphs
from nmrgcl.memory import require_bytes
from nmrgcl.words.wl import combine, node_labels

PAIRS_AT_ONCE = 2**23
"""Number of node pairs whose distances are in memory together; a larger graph is processed alone."""

BYTES_PER_PAIR = 150
"""Memory per pair of nodes; measured: 91 on a random tree of 2,000 nodes, 154 on a path of 700."""


def shortest_paths(graphs: Graphs, *, method: str) -> tuple[Tensor, Tensor, Tensor]:
    """Return the distinct words of each graph, their graph, and the number of node pairs with that word, ``[T]`` each.

    A word stands for the labels of two connected nodes and their distance. Both orders of a pair are counted.
    """
    labels = node_labels(graphs, method)
    most = int(graphs.node_ptr.diff().max()) if len(graphs) else 0
    require_bytes(
        BYTES_PER_PAIR * most**2,
        f"method {method}: the shortest paths of a graph of {most:,} nodes",
        "use other words (options.words = wl or graphlets), or leave out such large graphs",
    )
    words, batch, times = [labels[:0]], [graphs.batch[:0]], [labels[:0]]
    for start, part in _parts(graphs):
        one, other, distance = (torch.from_numpy(found) for found in _distances(part))
        ends = labels[start + one], labels[start + other]
        # The smaller label first, so that both orders of a pair give one word.
        word, graph = combine(torch.minimum(*ends), torch.maximum(*ends), distance), graphs.batch[start + one]
        _, first, count = np.unique(combine(graph, word).numpy(), return_index=True, return_counts=True)
        words.append(word[first])
        batch.append(graph[first])
        times.append(torch.from_numpy(count))
    return torch.cat(words), torch.cat(batch), torch.cat(times)


def _parts(graphs: Graphs) -> Iterator[tuple[int, csr_array]]:
    """Yield the first node and the adjacency matrix of some graphs at a time."""
    # The distances of n nodes take n² entries, so parts are cut by the sum of squares.
    squares = np.cumsum(graphs.node_ptr.diff().double().square().numpy())
    part = np.unique(squares // PAIRS_AT_ONCE, return_index=True)[1] if len(squares) else np.zeros(0, np.int64)
    ends = [*part[1:].tolist(), len(graphs)] if len(part) else []
    for first, end in zip(part.tolist(), ends, strict=True):
        few = graphs.take(torch.arange(first, end))
        source, destination = few.edge_index.numpy()
        shape = (few.num_nodes, few.num_nodes)
        yield int(graphs.node_ptr[first]), csr_array((np.ones(len(source), bool), (source, destination)), shape)


def _distances(adjacency: csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return both nodes and the distance, ``[T]`` each, of all connected pairs of nodes, nearest first."""
    reached = eye_array(adjacency.shape[0], dtype=bool, format="csr")
    front, found, distance = reached, [np.zeros((3, 0), np.int64)], 0
    while front.nnz:
        distance += 1
        # For booleans, > means "and not": only pairs that were not reached before.
        front = (front @ adjacency) > reached
        reached = reached + front
        one, other = front.nonzero()
        found.append(np.stack([one, other, np.full_like(one, distance)]).astype(np.int64))
    one, other, length = np.concatenate(found, 1)
    return one, other, length
