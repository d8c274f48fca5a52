"""The best accuracy that message passing can reach: graphs that it cannot tell apart get the same prediction."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nmrgcl.graphs import Graphs
from nmrgcl.words.wl import combine, mix, numbered_labels


@dataclass(frozen=True)
class Ceiling:
    """What no message-passing encoder with these node features can exceed, even if it knew every label.

    Attributes:
        graphs: the number of labelled graphs.
        different: how many of them the Weisfeiler–Lehman test tells apart.
        doubles: how many graphs it cannot tell from another one.
        accuracy: the highest possible accuracy in percent.
        accuracy_of_doubles: the same over ``doubles``; None if there are none.
        rounds: the rounds of refinement after which nothing more can be told apart.
    """

    graphs: int
    different: int
    doubles: int
    accuracy: float
    accuracy_of_doubles: float | None
    rounds: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values, with percentages rounded to two digits."""
        return {key: round(value, 2) if isinstance(value, float) else value for key, value in asdict(self).items()}


def message_passing_ceiling(graphs: Graphs, y: np.ndarray) -> Ceiling:
    """The ceiling for classes ``y`` ``[B]`` (negative: no label) of graphs with categorical features.

    Message passing distinguishes no more graphs than 1-WL (Xu et al. 2019, Lemma 2), so of graphs with equal colours at
    most those of the most frequent class can be right. Edge labels are not used.
    """
    kinds, rounds = stable_kinds(graphs)
    known = y >= 0
    _, kind = np.unique(kinds[known], return_inverse=True)
    counts = np.zeros((int(kind.max(initial=-1)) + 1, int(y.max(initial=0)) + 1), np.int64)
    np.add.at(counts, (kind, y[known]), 1)
    shared, most = counts.sum(1) > 1, counts.max(1, initial=0)
    total, doubles = int(known.sum()), int(counts[shared].sum())
    return Ceiling(
        graphs=total,
        different=len(counts),
        doubles=doubles,
        accuracy=100.0 * float(most.sum()) / max(total, 1),
        accuracy_of_doubles=100.0 * float(most[shared].sum()) / doubles if doubles else None,
        rounds=rounds,
    )


def stable_kinds(graphs: Graphs) -> tuple[np.ndarray, int]:
    """``[B]`` numbers that are equal for graphs with the same stable colours, and the rounds that were needed.

    Refinement ends when a round splits no colour, or when all graphs differ.
    """
    graphs, colours = graphs.compact(), 0
    kinds, needed = torch.zeros(graphs.num_graphs, dtype=torch.long), 0
    for step, (labels, number) in enumerate(numbered_labels(graphs, graphs.num_nodes, method="wl")):
        found = int(number.max()) + 1 if len(number) else 0
        # A round that splits no colour is the last: later ones would split none either.
        if found == colours:
            break
        colours, needed = found, step
        kinds = _equal_multisets(labels, graphs)
        if int(kinds.max()) + 1 == graphs.num_graphs:
            break
    return kinds.cpu().numpy(), needed


def _equal_multisets(labels: Tensor, graphs: Graphs) -> Tensor:
    """``[B]`` numbers that are equal for graphs with equal multisets of labels, compared by size and two hashes."""
    # A sum of hashes does not depend on the order of nodes, as a multiset does not.
    words = [torch.ones_like(labels), mix(labels), mix(combine(labels, labels))]
    sums = [torch.zeros(graphs.num_graphs, dtype=torch.long, device=labels.device) for _ in words]
    for total, word in zip(sums, words, strict=True):
        total.index_add_(0, graphs.batch, word)
    return torch.unique(torch.stack(sums, 1), dim=0, return_inverse=True)[1]
