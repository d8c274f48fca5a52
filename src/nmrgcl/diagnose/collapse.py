"""How many dimensions an embedding uses."""

import torch
from torch import Tensor

from nmrgcl.diagnose.spectrum import entropy_rank
from nmrgcl.diagnose.units import to_unit_range


def singular_spectrum(z: Tensor) -> Tensor:
    """Singular values of the centred embeddings ``[B, D]``, largest first, in float64."""
    z, unit = to_unit_range(z.detach().double())
    return torch.linalg.svdvals(z - z.mean(0)) * unit


def effective_rank(z: Tensor) -> float:
    """Exponential of the entropy of the normalised singular values (Roy & Vetterli 2007): 1 … min(B, D).

    Embeddings that are all equal have no spread at all: 0.
    """
    return entropy_rank(singular_spectrum(z))


def relative_spread(z: Tensor) -> float:
    """Root mean square distance from the mean over the root mean square length: 0 where all rows are equal, at most 1.

    Rows that are all zero are equal, too: 0.
    """
    z, _ = to_unit_range(z.double())
    length = z.square().sum()
    return float(((z - z.mean(0)).square().sum() / length).sqrt()) if length > 0 else 0.0
