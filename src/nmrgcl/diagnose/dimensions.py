"""Single dimensions of an embedding ``[B, D]``: which are dead, which repeat another, how they correlate."""

import torch
from torch import Tensor

DEAD = 1e-4
"""A dimension whose standard deviation is at most this share of the largest one's is dead …"""
CONSTANT = 1e-6
"""… and so is one that differs from its mean by float32's rounding alone."""
SAME = 0.999
"""Two dimensions that correlate this much, with either sign, are one and its repeat."""


def live_dimensions(z: Tensor) -> Tensor:
    """``[D]`` which dimensions vary."""
    z = z.double()
    spread = z.std(0, correction=0)
    return (spread > DEAD * spread.max()) & (spread > CONSTANT * z.mean(0).abs())


def dead_dimensions(z: Tensor) -> int:
    """How many dimensions are (nearly) the same for all rows."""
    return int((~live_dimensions(z)).sum())


def correlation(z: Tensor) -> Tensor:
    """``[D, D]`` Pearson correlations, multiplied in ``z``'s precision; a dead dimension's are 0, also its own."""
    live, precision = live_dimensions(z), z.dtype
    z = z.double()
    z = (z - z.mean(0)) * live
    unit = z / torch.linalg.vector_norm(z, dim=0).clamp(min=torch.finfo(z.dtype).tiny)
    unit = unit.to(precision)
    return unit.T @ unit


def duplicate_dimensions(correlations: Tensor) -> int:
    """How many dimensions repeat an earlier one, as it is or with the sign turned; dead ones do not count."""
    return int((correlations.abs().tril(-1) >= SAME).any(1).sum())


def mean_correlation(correlations: Tensor) -> float:
    """Mean ``|r|`` over pairs of different live dimensions; 0 where there is no pair."""
    live = int((correlations.diagonal() > 0).sum())
    off = correlations.abs().sum() - correlations.diagonal().abs().sum()
    return float(off) / (live * (live - 1)) if live > 1 else 0.0
