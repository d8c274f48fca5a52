"""Weisfeiler–Lehman labels as 64-bit hashes, which are the same in every batch and run."""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn.functional import pad

from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs

_STEP, _FIRST, _SECOND = (value - 2**64 for value in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def wl_labels(graphs: Graphs, iterations: int, *, method: str | None = None) -> Iterator[Tensor]:
    """Yield the ``[N]`` labels of nodes after 0, 1, …, ``iterations`` rounds of refinement.

    A label is a hash of the node's previous label and the multiset of its neighbours' labels, so that it means the same
    in every batch and run. A hash collision within a batch raises DataError. Nodes with numeric features all start with
    the same label, or are refused in the name of ``method`` if it is given.
    """
    return (labels for labels, _ in numbered_labels(graphs, iterations, method=method))


def numbered_labels(graphs: Graphs, iterations: int, *, method: str | None = None) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the labels of each round, and their ``[N]`` indices among its distinct labels, in ascending order."""
    if graphs.categorical or method is not None:
        labels = node_labels(graphs, method or "")
    else:
        # As if all had the constant feature.
        labels = combine(torch.zeros(graphs.num_nodes, dtype=torch.long, device=graphs.device))
    _, number = torch.unique(labels, return_inverse=True)
    yield labels, number
    for step in range(1, iterations + 1):
        # Mixed before they are summed, so that this sum is independent of that of the labels, by which _require_same
        # checks it.
        refined = combine(labels, sum_around(mix(labels), graphs), torch.tensor(step, device=labels.device))
        _, number = torch.unique(refined, return_inverse=True)
        _require_same(number, labels, sum_around(labels, graphs))
        labels = refined
        yield labels, number


def sum_around(values: Tensor, graphs: Graphs) -> Tensor:
    """Return the ``[N]`` sums over neighbours, exact modulo 2^64; relies on edges sorted by destination."""
    return pad(values[graphs.edge_index[0]].cumsum(0), (1, 0))[graphs.row_ptr].diff()


def node_labels(graphs: Graphs, method: str) -> Tensor:
    """Return ``[N]`` one word per node that combines all its categorical features."""
    if not graphs.categorical:
        raise DataError(
            f"method {method} needs node labels, but these nodes have numeric features ({graphs.num_features}); "
            "set data.features to degree or constant, or to labels if the nodes have any"
        )
    return combine(*graphs.x.unbind(1))


def combine(*parts: Tensor) -> Tensor:
    """Hash the sequence of ``parts`` elementwise; their order matters."""
    word = torch.zeros((), dtype=torch.long, device=parts[0].device)
    for part in parts:
        word = mix(mix(word) + part)  # a plain sum would confuse a node and its only neighbour
    return word


def mix(word: Tensor) -> Tensor:
    """Apply SplitMix64, a bijective mixing function of 64-bit integers (Steele et al. 2014)."""
    word = word + _STEP
    for bits, factor in ((30, _FIRST), (27, _SECOND), (31, 1)):
        shifted = (word >> bits).bitwise_and_(2 ** (64 - bits) - 1)  # a logical shift
        word.bitwise_xor_(shifted).mul_(factor)
    return word


def _require_same(number: Tensor, labels: Tensor, around: Tensor) -> None:
    """Raise DataError if refined labels with the same ``number`` stem from different ``labels`` or neighbours.

    Neighbours are compared by ``around``, the sum of their labels. Refined labels depend on a sum of other hashes, so
    that an undetected error would take two 64-bit collisions between the same two nodes.
    """
    some = torch.empty_like(number)
    some[number] = torch.arange(len(number), device=number.device)  # any node of that number
    some = some[number]
    if not (torch.equal(labels[some], labels) and torch.equal(around[some], around)):
        raise DataError("two different labels of these graphs have the same 64-bit hash; leave some of the graphs out")
