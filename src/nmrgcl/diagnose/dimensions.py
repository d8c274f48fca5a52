"""Individual dimensions of an embedding ``[B, D]``: dead ones, duplicates, and correlations."""

import torch
from torch import Tensor

DEAD = 1e-4
"""A dimension is dead if its standard deviation is at most this share of the largest one."""
CONSTANT = 1e-6
"""A dimension is also dead if it varies, relative to its mean, by no more than float32 rounding."""
SAME = 0.999
"""Two dimensions are duplicates if the absolute value of their correlation is at least this."""


def live_dimensions(z: Tensor) -> Tensor:
    """``[D]`` whether each dimension varies."""
    z = z.double()
    spread = z.std(0, correction=0)
    return (spread > DEAD * spread.max()) & (spread > CONSTANT * z.mean(0).abs())


def dead_dimensions(z: Tensor) -> int:
    """The number of dimensions that are (nearly) the same for all rows."""
    return int((~live_dimensions(z)).sum())


def correlation(z: Tensor) -> Tensor:
    """``[D, D]`` Pearson correlations, multiplied in the precision of ``z``; all those of a dead dimension are 0."""
    live, precision = live_dimensions(z), z.dtype
    z = z.double()
    z = (z - z.mean(0)) * live
    # The columns of dead dimensions are zero and stay zero.
    unit = z / torch.linalg.vector_norm(z, dim=0).clamp(min=torch.finfo(z.dtype).tiny)
    unit = unit.to(precision)
    return unit.T @ unit


def duplicate_dimensions(correlations: Tensor) -> int:
    """The number of dimensions that duplicate an earlier one up to sign; dead ones do not count."""
    return int((correlations.abs().tril(-1) >= SAME).any(1).sum())


def mean_correlation(correlations: Tensor) -> float:
    """Mean ``|r|`` over pairs of different live dimensions; 0 if there is no pair."""
    # The correlation of a live dimension with itself is 1, that of a dead one 0.
    live = int((correlations.diagonal() > 0).sum())
    # Dead dimensions have only zeros, so the sum need not leave them out.
    off = correlations.abs().sum() - correlations.diagonal().abs().sum()
    return float(off) / (live * (live - 1)) if live > 1 else 0.0
