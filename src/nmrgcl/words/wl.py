"""The labels of Weisfeiler and Lehman as 64-bit words that mean the same everywhere."""

from collections.abc import Iterator

import torch
from torch import Tensor

from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs

_STEP, _FIRST, _SECOND = (value - 2**64 for value in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def wl_labels(graphs: Graphs, iterations: int, *, method: str) -> Iterator[Tensor]:
    """``[N]`` the label of each node after 0, 1, …, ``iterations`` rounds of refinement.

    A label is a hash of what it stands for: the node's own label before, and the multiset of its neighbours'. It thus
    means the same in every batch and every run. Within a batch different labels are never mistaken for each other:
    nodes of equal hash are compared.
    """
    labels = node_labels(graphs, method)
    yield labels
    for number in range(1, iterations + 1):
        source, destination = graphs.edge_index
        around = torch.zeros_like(labels).index_add_(0, destination, mix(labels)[source])  # integers: exact, any order
        refined = combine(labels, around, torch.full_like(labels, number))
        _require_distinct(refined, labels, graphs)
        labels = refined
        yield labels


def node_labels(graphs: Graphs, method: str) -> Tensor:
    """``[N]`` one word per node for its categorical features; those of several columns count as one label."""
    if not graphs.categorical:
        raise DataError(
            f"method {method} needs node labels, but these nodes have {graphs.num_features} numeric features; "
            "use --set data.features=labels, degree or constant"
        )
    return combine(*graphs.x.unbind(1))


def combine(*parts: Tensor) -> Tensor:
    """One word for the sequence of ``parts``, place by place; their order matters."""
    word = torch.zeros_like(parts[0])
    for part in parts:
        word = mix(mix(word) + part)  # a sum of parts alone would confuse a node and its only neighbour
    return word


def mix(word: Tensor) -> Tensor:
    """A bijection of 64-bit integers that spreads every bit (SplitMix64, Steele et al. 2014)."""
    word = word + _STEP
    word = (word ^ _shifted(word, 30)) * _FIRST
    word = (word ^ _shifted(word, 27)) * _SECOND
    return word ^ _shifted(word, 31)


def _shifted(word: Tensor, bits: int) -> Tensor:
    """To the right, filled with zeros."""
    return (word >> bits) & (2 ** (64 - bits) - 1)


def _require_distinct(refined: Tensor, labels: Tensor, graphs: Graphs) -> None:
    """Refuse a hash that two different labels share: compare each node with the first one of its hash."""
    n, (source, destination) = graphs.num_nodes, graphs.edge_index
    _, group = torch.unique(refined, return_inverse=True)
    first = torch.full_like(group, n).scatter_reduce_(0, group, torch.arange(n, device=group.device), "amin")[group]
    _, before = torch.unique(labels, return_inverse=True)
    degree = graphs.row_ptr.diff()
    equal = torch.equal(before[first], before) and torch.equal(degree[first], degree)
    if equal:
        around = (destination * n + before[source]).sort().values - destination * n  # by node, then by label
        place = torch.arange(graphs.num_edges, device=group.device) - graphs.row_ptr[destination]
        equal = torch.equal(around[graphs.row_ptr[first[destination]] + place], around)
    if not equal:
        raise DataError("two different labels of these graphs have the same 64-bit hash; leave some of the graphs out")
