"""Listed pairs of nodes as the edges of simple undirected graphs."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Counts:
    """What differed between the list and the edges."""

    self_loops: int
    duplicates: int
    one_way: int


def undirected(source: np.ndarray, destination: np.ndarray, num_nodes: int) -> tuple[np.ndarray, np.ndarray, Counts]:
    """Drop self-loops and repeated rows, add missing reverses, and count all three.

    Returns:
        ``[2, E]`` every edge in both directions, once, sorted by destination, then source;
        ``[E]`` the row that an edge takes its label from: the first that names it, else its reverse; the counts.
    """
    listed = len(source)
    key = destination * num_nodes + source
    row = np.argsort(key, kind="stable")
    key = key[row]
    fresh = np.ones(listed, bool)
    np.not_equal(key[1:], key[:-1], out=fresh[1:])
    key, row = key[fresh], row[fresh]
    duplicates = listed - len(key)
    loop = source[row] == destination[row]
    key, row = key[~loop], row[~loop]
    reverse = source[row] * num_nodes + destination[row]
    place = np.minimum(np.searchsorted(key, reverse), max(len(key) - 1, 0))
    missing = key[place] != reverse
    one_way = int(missing.sum())
    if one_way:
        key, row = np.concatenate([key, reverse[missing]]), np.concatenate([row, row[missing]])
        order = np.argsort(key, kind="stable")
        key, row = key[order], row[order]
    edge_index = np.empty((2, len(key)), np.int64)
    np.divmod(key, num_nodes, out=(edge_index[1], edge_index[0]))
    return edge_index, row, Counts(int(loop.sum()), duplicates, one_way)
