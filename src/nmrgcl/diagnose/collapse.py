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

    It is 0 if all embeddings are equal.
    """
    return entropy_rank(singular_spectrum(z))


def relative_spread(z: Tensor) -> float:
    """Root mean square distance from the mean over root mean square length: at most 1, and 0 if all rows are equal."""
    z, _ = to_unit_range(z.double())
    length = z.square().sum()
    return float(((z - z.mean(0)).square().sum() / length).sqrt()) if length > 0 else 0.0
