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
    # Autocast would multiply in bfloat16, and dividing by a small τ would make its rounding errors large.
    with full_precision(q):
        if queue is None:
            return across_ranks.mean((q @ across_ranks.gather(k).T / tau).logsumexp(1) - own)
        negative = (q @ unit_rows(queue).T / tau).logsumexp(1)
    # The queue lacks the own key, which the denominator contains in both cases.
    return across_ranks.mean(torch.logaddexp(own, negative) - own)
