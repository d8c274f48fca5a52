"""Turn listed pairs of nodes into the edges of simple graphs: merge repeats, drop self-loops, add reverses."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Counts:
    """How many listed edges were removed or added."""

    self_loops: int
    duplicates: int
    one_way: int


def edge_key(source: np.ndarray, destination: np.ndarray, num_nodes: int) -> np.ndarray:
    """Return ``[E]`` int64 keys that sort edges by destination, then source; nodes may have any integer type."""
    key = destination.astype(np.int64)
    key *= num_nodes
    key += source
    return key


def undirected(source: np.ndarray, destination: np.ndarray, num_nodes: int) -> tuple[np.ndarray, np.ndarray, Counts]:
    """Remove self-loops and repeated rows, and add missing reverses.

    Returns:
        ``[2, E]`` every edge once in each direction, sorted by destination, then source; ``[E]`` the row that gives
        each edge its label: the first that lists it, else the first that lists its reverse; and the counts.
    """
    key, row, counts = _distinct(source, destination, num_nodes)
    reverse = edge_key(destination[row], source[row], num_nodes)
    missing = ~_contained(reverse, key)
    one_way = int(missing.sum())
    # Most files list both directions, and sorting sorted edges again costs much memory (docs/lab/reliability.md).
    if one_way:
        key, row = np.concatenate([key, reverse[missing]]), np.concatenate([row, row[missing]])
        order = np.argsort(key, kind="stable")
        key, row = key[order], row[order]
    return _ends(key, num_nodes), row, Counts(counts.self_loops, counts.duplicates, one_way)


def directed(source: np.ndarray, destination: np.ndarray, num_nodes: int) -> tuple[np.ndarray, np.ndarray, Counts]:
    """Do the same without adding reverses, so that edges keep their direction."""
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
    """Return the ``[E]`` float32 weights of the merged edges: the weights of repeated rows add up.

    Unless ``directed``, an added reverse gets the weight of its edge. If both directions were listed, each gets their
    mean.
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
    # A sum that is too large becomes infinite, which assemble refuses.
    with np.errstate(over="ignore"):
        return total.astype(np.float32)


def _distinct(source: np.ndarray, destination: np.ndarray, num_nodes: int) -> tuple[np.ndarray, np.ndarray, Counts]:
    """Return the sorted keys of the distinct edges without self-loops, the first row of each, and the counts."""
    listed = len(source)
    key = edge_key(source, destination, num_nodes)
    # A stable sort puts the first of repeated rows first.
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
