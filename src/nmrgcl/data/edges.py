"""Listed pairs of nodes as the edges of simple graphs: what directions, repeats, loops and weights mean."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Counts:
    """What differed between the list and the edges."""

    self_loops: int
    duplicates: int
    one_way: int


def edge_key(source: np.ndarray, destination: np.ndarray, num_nodes: int) -> np.ndarray:
    """``[E]`` int64 numbers that sort as edges do: by destination, then source; ends may have any integer type."""
    key = destination.astype(np.int64)
    key *= num_nodes
    key += source
    return key


def undirected(source: np.ndarray, destination: np.ndarray, num_nodes: int) -> tuple[np.ndarray, np.ndarray, Counts]:
    """Drop self-loops and repeated rows, add missing reverses, and count all three.

    Returns:
        ``[2, E]`` every edge in both directions, once, sorted by destination, then source;
        ``[E]`` the row that an edge takes its label from: the first that names it, else its reverse; the counts.
    """
    key, row, counts = _distinct(source, destination, num_nodes)
    reverse = edge_key(destination[row], source[row], num_nodes)
    missing = ~_contained(reverse, key)
    one_way = int(missing.sum())
    if one_way:
        key, row = np.concatenate([key, reverse[missing]]), np.concatenate([row, row[missing]])
        order = np.argsort(key, kind="stable")
        key, row = key[order], row[order]
    return _ends(key, num_nodes), row, Counts(counts.self_loops, counts.duplicates, one_way)


def directed(source: np.ndarray, destination: np.ndarray, num_nodes: int) -> tuple[np.ndarray, np.ndarray, Counts]:
    """The same without reverses: an edge leads where the list says."""
    key, row, counts = _distinct(source, destination, num_nodes)
    return _ends(key, num_nodes), row, counts


def merged_weights(
    source: np.ndarray,
    destination: np.ndarray,
    weight: np.ndarray,
    edge_index: np.ndarray,
    num_nodes: int,
    *,
    directed: bool,
) -> np.ndarray:
    """``[E]`` float32: rows that repeat an edge add up.

    Unless ``directed``, a reverse that was not listed weighs the same, and where both were each weighs their mean.
    """
    keys = edge_key(edge_index[0], edge_index[1], num_nodes)
    if not len(keys):
        return np.empty(0, np.float32)
    proper = source != destination
    place = np.searchsorted(keys, edge_key(source[proper], destination[proper], num_nodes))
    total = np.bincount(place, weight[proper], len(keys))
    named = np.bincount(place, minlength=len(keys)) > 0
    if not directed:
        reverse = np.searchsorted(keys, edge_key(edge_index[1], edge_index[0], num_nodes))
        both = named & named[reverse]
        total = np.where(both, (total + total[reverse]) / 2, np.where(named, total, total[reverse]))
    with np.errstate(over="ignore"):
        return total.astype(np.float32)


def _distinct(source: np.ndarray, destination: np.ndarray, num_nodes: int) -> tuple[np.ndarray, np.ndarray, Counts]:
    """Keys (destination · N + source) of the distinct proper edges, sorted, and the first row of each."""
    listed = len(source)
    key = edge_key(source, destination, num_nodes)
    row = np.argsort(key, kind="stable")
    key = key[row]
    fresh = np.ones(listed, bool)
    np.not_equal(key[1:], key[:-1], out=fresh[1:])
    key, row = key[fresh], row[fresh]
    duplicates = listed - len(key)
    loop = source[row] == destination[row]
    return key[~loop], row[~loop], Counts(int(loop.sum()), duplicates, 0)


def _contained(values: np.ndarray, key: np.ndarray) -> np.ndarray:
    return key[np.minimum(np.searchsorted(key, values), max(len(key) - 1, 0))] == values


def _ends(key: np.ndarray, num_nodes: int) -> np.ndarray:
    edge_index = np.empty((2, len(key)), np.int64)
    np.divmod(key, max(num_nodes, 1), out=(edge_index[1], edge_index[0]))
    return edge_index
