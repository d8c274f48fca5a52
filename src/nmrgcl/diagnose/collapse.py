"""How many dimensions an embedding uses."""

import torch
from torch import Tensor

from nmrgcl.diagnose.spectrum import entropy_rank
from nmrgcl.diagnose.units import to_unit_range


def singular_spectrum(z: Tensor) -> Tensor:
    """Singular values of the centred embeddings ``[B, D]``, largest first, in float64.

    Example:
        >>> import torch
        >>> from nmrgcl import singular_spectrum
        >>> singular_spectrum(torch.tensor([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0]])).square()
        tensor([18.0000,  2.0000], dtype=torch.float64)
    """
    z, unit = to_unit_range(z.detach().double())
    return torch.linalg.svdvals(z - z.mean(0)) * unit


def effective_rank(z: Tensor) -> float:
    """Exponential of the entropy of the normalised singular values (Roy & Vetterli 2007): 1 … min(B, D).

    It is 0 if all embeddings are equal.

    Example:
        >>> import torch
        >>> from nmrgcl import effective_rank
        >>> one_axis = torch.arange(20.0).unsqueeze(1) * torch.ones(1, 8)  # every dimension repeats the first
        >>> round(effective_rank(one_axis), 3)
        1.0
    """
    return entropy_rank(singular_spectrum(z))


def relative_spread(z: Tensor) -> float:
    """Root mean square distance from the mean over root mean square length: at most 1, and 0 if all rows are equal."""
    z, _ = to_unit_range(z.double())
    # From zero, not from the mean: that all rows are far from zero and close together is complete collapse.
    length = z.square().sum()
    return float(((z - z.mean(0)).square().sum() / length).sqrt()) if length > 0 else 0.0
