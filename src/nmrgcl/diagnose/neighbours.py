"""Whether two embeddings of the same rows agree on which rows are similar."""

import torch
from torch import Tensor
from torch.nn.functional import normalize

NEAREST = 10
"""How many nearest neighbours of a row are compared."""


def neighbour_agreement(first: Tensor, second: Tensor, k: int = NEAREST) -> float:
    """Mean share of a row's ``k`` nearest neighbours by cosine in ``first`` that are among those in ``second``.

    Row i of both ``[B, ·]`` belongs to the same graph or node. Unrelated embeddings agree on k / (B − 1) on average; if
    there are no more than ``k`` other rows, all of them are neighbours.
    """
    k = min(k, len(first) - 1)
    if k < 1:
        return 1.0
    one, two = (_nearest(z, k) for z in (first, second))
    return float((one & two).sum() / (k * len(first)))


def _nearest(z: Tensor, k: int) -> Tensor:
    """``[B, B]`` whether column j is one of the ``k`` nearest neighbours of row i; ties go to the lower index."""
    unit = normalize(z.double(), dim=1, eps=1e-12)
    similar = (unit @ unit.T).fill_diagonal_(-torch.inf)
    order = similar.sort(dim=1, descending=True, stable=True).indices[:, :k]
    return torch.zeros_like(similar, dtype=torch.bool).scatter_(1, order, True)
