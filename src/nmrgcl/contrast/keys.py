"""InfoNCE in one direction: a query finds its own key among the other keys of the batch, or among those of a queue."""

import torch
from torch import Tensor

from nmrgcl.contrast.cosine import unit_rows
from nmrgcl.errors import SettingError
from nmrgcl.ops import across_ranks, full_precision


def find_key(q: Tensor, k: Tensor, queue: Tensor | None = None, *, tau: float = 0.07) -> Tensor:
    """Query i belongs to key i (``[B, D]`` each); negatives are the other keys, or those of ``queue`` (``[Q, D]``)."""
    if queue is None and across_ranks.count_rows(q.shape[0]) < 2:
        raise SettingError("this loss needs at least two graphs in a batch; raise train.batch_size")
    q, k = unit_rows(q), unit_rows(k)
    own = (q * k).sum(1) / tau
    with full_precision(q):
        if queue is None:
            return across_ranks.mean((q @ across_ranks.gather(k).T / tau).logsumexp(1) - own)
        negative = (q @ unit_rows(queue).T / tau).logsumexp(1)
    return across_ranks.mean(torch.logaddexp(own, negative) - own)
