"""InfoGraph's objective (Sun et al. 2020): the nodes of a graph belong to its own summary, not to those of others."""

import math

import torch
from torch import Tensor
from torch.nn.functional import softplus

from nmrgcl.errors import SettingError
from nmrgcl.ops import across_ranks, widen


def local_global(nodes: Tensor, graphs: Tensor, batch: Tensor, keep: Tensor | None = None) -> Tensor:
    """The negated Jensen–Shannon estimate of the mutual information between nodes and their graphs.

    The score t of a node and a graph is their inner product. The loss is the mean of softplus(t) − log 2 over pairs
    that do not belong together, minus the mean of log 2 − softplus(−t) over those that do: 0 if every score is 0.
    Memory is proportional to the nodes times the graphs of a batch.

    Args:
        nodes: ``[N, D]``.
        graphs: ``[B, D]``.
        batch: ``[N]`` the graph of each node.
        keep: ``[N]`` which nodes take part; None means all.
    """
    others = across_ranks.count_rows(graphs.shape[0]) - 1
    if others < 1:
        raise SettingError("InfoGraph's loss needs at least two graphs in a batch; raise train.batch_size")
    # Under train.precision = bf16 these are bfloat16, unlike in other losses: Table 3's InfoGraph row was trained so.
    scores = widen(nodes) @ across_ranks.gather(widen(graphs)).T
    own = (batch + across_ranks.first_row())[:, None] if across_ranks.active() else batch[:, None]
    joint = softplus(-scores.gather(1, own)).squeeze(1)
    # softplus(−∞) = 0 with a gradient of 0, which takes a node's own graph out of the sum.
    apart = softplus(scores.scatter(1, own, -torch.inf)).sum(1) / others
    # Every node has one own graph and B − 1 others, so both means are one mean over nodes.
    total = joint + apart
    if keep is None:
        count = torch.full((), nodes.shape[0], device=nodes.device)
        return across_ranks.ratio(total.sum(), count) - 2 * math.log(2)
    return across_ranks.ratio(torch.where(keep, total, 0.0).sum(), keep.sum()) - 2 * math.log(2)
