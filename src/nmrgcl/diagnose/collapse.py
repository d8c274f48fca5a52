"""How many dimensions an embedding uses."""

import torch
from torch import Tensor


def singular_spectrum(z: Tensor) -> Tensor:
    """Singular values of the centred embeddings ``[B, D]``, largest first, in float64."""
    z = z.double()
    return torch.linalg.svdvals(z - z.mean(0))


def effective_rank(z: Tensor) -> float:
    """Exponential of the entropy of the normalised singular values (Roy & Vetterli 2007): 1 … min(B, D).

    Embeddings that are all equal have no spread at all: 0.
    """
    values = singular_spectrum(z)
    total = values.sum()
    if not total > 0:
        return 0.0
    share = values[values > 0] / total
    return float(torch.exp(-(share * share.log()).sum()))
