"""InfoNCE across views: the negatives of a row are the other rows of the other view, and none of its own."""

from torch import Tensor

from nmrgcl.contrast.cosine import unit_rows
from nmrgcl.errors import SettingError
from nmrgcl.ops import across_ranks, full_precision


def across_views(z1: Tensor, z2: Tensor, *, tau: float = 0.1) -> Tensor:
    """Row i of ``z1`` and row i of ``z2`` (``[B, D]`` each) find each other; the mean of both directions."""
    if across_ranks.count_rows(z1.shape[0]) < 2:
        raise SettingError("this loss needs at least two graphs in a batch; raise train.batch_size")
    z1, z2 = unit_rows(z1), unit_rows(z2)
    with full_precision(z1):
        if across_ranks.active():
            forth, back = z1 @ across_ranks.gather(z2).T / tau, z2 @ across_ranks.gather(z1).T / tau
            # A rank's own pairs are not on the diagonal of its block of the similarities.
            own = (z1 * z2).sum(1) / tau
            return across_ranks.mean((forth.logsumexp(1) + back.logsumexp(1)) / 2 - own)
        similarity = z1 @ z2.T / tau
    # Rows are one direction and columns the other, so one product serves both.
    return ((similarity.logsumexp(1) + similarity.logsumexp(0)) / 2 - similarity.diagonal()).mean()
